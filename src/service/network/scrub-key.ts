const PLACEHOLDER = "[key]";
/** A shorter one is a word that a local server takes for a key, not a secret. */
const MIN_KEY_LENGTH = 8;
const MAX_BACKSLASHES = 8;
/** Of one character, however it is escaped. */
const MAX_ESCAPED_LENGTH = MAX_BACKSLASHES + "u0026".length;

/** Finds a key in the forms in which an upstream could send it back: as it is, in Base64 and in hex. */
export type KeyPattern = { find: RegExp; maxLength: number };

/** Null for a key that is too short to be a secret. Takes a while to make: once for each key. */
export function keyPattern(key: string): KeyPattern | null {
  if (key.length < MIN_KEY_LENGTH) return null;
  const forms = [
    key.replaceAll(/[^]/g, (character) => escaped(character)),
    ...[0, 1, 2].map((offset) => base64Within(key, offset).replaceAll(/[+/]/g, inBase64)),
    Buffer.from(key).toString("hex"),
  ];
  // No form has more than twice the key's characters.
  return { find: new RegExp(forms.join("|"), "gi"), maxLength: 2 * key.length * MAX_ESCAPED_LENGTH };
}

/** A character as it may stand in JSON (also in JSON within JSON) or in a URL. */
function escaped(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  const plain = `\\\\{0,${MAX_BACKSLASHES}}${character.replace(/\W/, "\\$&")}`;
  return `(?:${plain}|\\\\{1,${MAX_BACKSLASHES}}u00${hex}|%(?:25){0,3}${hex})`;
}

/** One of the two characters in which Base64's alphabets differ. */
function inBase64(character: string): string {
  return `(?:${escaped(character)}|${character === "+" ? "-" : "_"})`;
}

/** What a key always is in the Base64 of a longer text, if so many bytes stand before its last group of three: `user:key` for example. */
function base64Within(key: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(key)]);
  // Without the characters that its neighbors share, which hold a few bits of it at most.
  const from = Math.ceil((offset * 8) / 6);
  return bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6));
}

/** Removes a key from a short text, such as a header's value. */
export function withoutKey(text: string, key: KeyPattern | null): string {
  return key === null ? text : text.replaceAll(key.find, PLACEHOLDER);
}

/** Removes a key from bytes that pass, also where it is spread over several pieces. */
export class KeyScrubber {
  readonly #key: KeyPattern | null;
  #held = "";

  constructor(key: KeyPattern | null) {
    this.#key = key;
  }

  /** What may be handed on: all but what follows the last line break, of which the key may be a part. */
  push(chunk: Uint8Array): Buffer {
    const clean = withoutKey(this.#held + Buffer.from(chunk).toString("latin1"), this.#key);
    const end = this.#key === null ? clean.length : clean.length - this.#key.maxLength;
    const at = Math.max(0, end, clean.lastIndexOf("\n") + 1);
    this.#held = clean.slice(at);
    return Buffer.from(clean.slice(0, at), "latin1");
  }

  /** What was held back. */
  flush(): Buffer {
    const rest = this.#held;
    this.#held = "";
    return Buffer.from(rest, "latin1");
  }
}
