/** What tools get and return: data of the agent's own, which no provider reads as content. */
const TOOL_DATA: ReadonlySet<string> = new Set([
  "args",
  "arguments",
  "input_schema",
  "parameters",
  "response",
  "schema",
]);

/**
 * Whether a model call's messages have an image or a file that the provider would fetch from an address. An agent could send
 * anything to anybody in such an address.
 */
export function hasLinkedContent(json: object): boolean {
  const left: unknown[] = [json];
  while (left.length > 0) {
    const value = left.pop();
    if (Array.isArray(value)) for (const item of value) left.push(item);
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const fields = new Map<string, unknown>(Object.entries(value));
    if (isLinked(fields)) return true;
    const isToolUse = String(fields.get("type")).endsWith("tool_use");
    for (const [name, inner] of fields) {
      if (!TOOL_DATA.has(name) && !(isToolUse && name === "input")) left.push(inner);
    }
  }
  return false;
}

/** Images and files by address, as Anthropic, OpenAI (chat and responses) and Gemini write them. */
function isLinked(fields: ReadonlyMap<string, unknown>): boolean {
  switch (fields.get("type")) {
    case "url":
      return fields.has("url");
    case "image_url":
    case "input_image":
    case "input_file":
    case "file":
    case "video_url":
      return ["image_url", "file_url", "video_url", "file"].some((name) => isLink(fields.get(name)));
    default:
      return ["fileData", "file_data"].some((name) => {
        const file = fields.get(name);
        return typeof file === "object" && file !== null && ("fileUri" in file || "file_uri" in file);
      });
  }
}

function isLink(value: unknown): boolean {
  if (typeof value === "string") return !/^data:/i.test(value);
  if (typeof value !== "object" || value === null) return false;
  return ["url", "file_url", "file_data"].some((name) => {
    const inner: unknown = new Map<string, unknown>(Object.entries(value)).get(name);
    return typeof inner === "string" && /^[a-z][a-z0-9+.-]*:\/\//i.test(inner);
  });
}
