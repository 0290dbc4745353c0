/**
 * True if a parsed request or Socket Mode payload has the form of everything that Slack sends: an
 * object, and for events an event with a type.
 */
export function isSlackBody(body: unknown): body is Record<string, unknown> {
  if (!isObject(body)) return false;
  if (body["type"] !== "event_callback") return true;
  return isObject(body["event"]) && typeof body["event"]["type"] === "string";
}

/**
 * True if Bolt can read an event. Bolt looks inside these parts and throws if, for example, one is
 * null.
 */
export function canBoltRead(event: unknown): boolean {
  if (!isObject(event)) return false;
  return ["user", "channel", "item", "subteam"].every((name) => {
    const part = event[name];
    const isId = typeof part === "string" && (name === "user" || name === "channel");
    return part === undefined || isId || isObject(part);
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
