/** Whether a parsed request, or a Socket Mode payload, has the form that everything Slack sends has: an object, an event with its type. */
export function isSlackBody(body: unknown): body is Record<string, unknown> {
  if (!isObject(body)) return false;
  if (body["type"] !== "event_callback") return true;
  return isObject(body["event"]) && typeof body["event"]["type"] === "string";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
