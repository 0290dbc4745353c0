/**
 * Whether a parsed request, or a Socket Mode payload, has the form that everything Slack sends has:
 * an object, an event with its type.
 */
export function isSlackBody(body: unknown): body is Record<string, unknown> {
  if (!isObject(body)) return false;
  if (body["type"] !== "event_callback") return true;
  return isObject(body["event"]) && typeof body["event"]["type"] === "string";
}

/** Bolt looks inside these parts of an event, and throws where they are null, say. */
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
