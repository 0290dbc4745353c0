import { CREDENTIAL_SHAPES } from "../base/redaction.ts";

/** Tokens that a person might paste where only a name belongs. */
const TOKEN_SHAPES = [
  ...CREDENTIAL_SHAPES,
  // In mixed case, so that this doesn't match a long name of a variable or a file.
  /\b[A-Za-z][A-Za-z0-9]{0,19}_(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{40,}/,
  /:\/\/[^/\s:@]+:[^/\s@]+@/,
];

/** True if a text from the settings may be a secret, so that it must not be shown. */
export function looksSecret(text: string): boolean {
  return TOKEN_SHAPES.some((shape) => text.search(shape) >= 0);
}

/** A place in the file, as people write it: `projects[0].agent.command`. */
export function at(path: readonly PropertyKey[]): string {
  const written = path.map((key, index) => {
    if (typeof key === "number") return `[${key}]`;
    // A key from the file can be any text.
    const name = looksSecret(String(key))
      ? "?"
      : String(key)
          .replaceAll(/[^\w.-]/g, "?")
          .slice(0, 60);
    return index === 0 ? name : `.${name}`;
  });
  return written.join("") || "the file";
}
