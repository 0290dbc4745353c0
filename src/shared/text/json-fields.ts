/** The fields of an object in JSON that others wrote. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** The fields of an object. None if the value isn't an object. */
export function jsonFields(value: unknown): JsonFields {
  return isJsonFields(value) ? value : {};
}

export function isJsonFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A list's entries. None if the value isn't a list. */
export function jsonList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text, or an empty one if the value isn't a text. */
export function jsonText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
