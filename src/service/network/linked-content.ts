/** What tools get and return, and what a model cited: data that no provider reads as content. In lower case, without underscores. */
const DATA_FIELDS: ReadonlySet<string> = new Set([
  "annotations",
  "args",
  "arguments",
  "citations",
  "env",
  "inputexamples",
  "inputschema",
  "metadata",
  "parameters",
  "parametersjsonschema",
  "response",
  "responsejsonschema",
  "responseschema",
  "schema",
]);
/** Fields for addresses, in the APIs that we know and in those like them. */
const ADDRESS_FIELD = /ur[il]s?$/;
/** Fields for content, in which some servers take an address too. */
const CONTENT_FIELD = /^(?:audio|data|document|file|filedata|image|images|inputaudio|video)$/;
const FILE_ID_FIELD = /^fileids?$/;

/**
 * Whether a model call has content that the provider would get from elsewhere: images or files by their address, in which an agent could
 * send anything to anybody, or files that are stored at the provider. Only data counts as content here.
 */
export function hasLinkedContent(json: object): boolean {
  const left: [name: string, value: unknown][] = [["", json]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [name, value] = next;
    if (typeof value === "string") {
      if (isLink(name, value)) return true;
    } else if (Array.isArray(value)) {
      for (const item of value) left.push([name, item]);
    } else if (typeof value === "object" && value !== null) {
      const type: unknown = "type" in value ? value.type : undefined;
      for (const [inner, innerValue] of Object.entries(value)) {
        const innerName = inner.toLowerCase().replaceAll("_", "");
        if (!isData(type, innerName, innerValue)) left.push([innerName, innerValue]);
      }
    }
  }
  return false;
}

function isData(type: unknown, name: string, value: unknown): boolean {
  if (DATA_FIELDS.has(name)) return true;
  if (name === "input") return String(type).endsWith("tool_use") && !Array.isArray(value);
  // A document of plain text.
  return name === "data" && type === "text";
}

function isLink(name: string, value: string): boolean {
  const text = value.trim();
  if (text === "") return false;
  if (FILE_ID_FIELD.test(name)) return true;
  if (/^data:/i.test(text)) return false;
  // No Base64 has a colon.
  return ADDRESS_FIELD.test(name) || (CONTENT_FIELD.test(name) && /^[a-z][a-z0-9+.-]*:/i.test(text));
}
