const PLACEHOLDER = Buffer.from("[key]");
/** A shorter one is a word that a local server takes for a key, not a secret. */
const MIN_KEY_LENGTH = 8;

/** The forms in which an upstream could send a key back: as it is, in Base64 and hex, in URLs, in JSON. */
function formsOf(key: string): Buffer[] {
  const hex = Buffer.from(key).toString("hex");
  const bytes = hex.match(/../g) ?? [];
  const forms = [
    key,
    ...[0, 1, 2].flatMap((offset) => base64Within(key, offset)),
    ...[hex, bytes.map((byte) => `%${byte}`).join("")].flatMap((form) => [form, form.toUpperCase()]),
    ...[bytes, bytes.map((byte) => byte.toUpperCase())].map((all) =>
      all.map((byte) => `\\u00${byte}`).join(""),
    ),
    encodeURIComponent(key),
    JSON.stringify(key).slice(1, -1),
  ];
  // Longest first: one that holds another must not leave its rest behind.
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length).map((form) => Buffer.from(form));
}

/** What a key always is in the Base64 of a longer text, if so many bytes stand before its last group of three: `user:key` for example. */
function base64Within(key: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(key)]);
  // Without the characters that its neighbors share, which hold a few bits of it at most.
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((bytes.length * 8) / 6);
  return [bytes.toString("base64").slice(from, to), bytes.toString("base64url").slice(from, to)];
}

/** Removes a key from bytes that pass, also where it is spread over several pieces. */
export class KeyScrubber {
  readonly #forms: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);

  constructor(key: string) {
    this.#forms = key.length < MIN_KEY_LENGTH ? [] : formsOf(key);
  }

  /** What of the bytes so far may be handed on: all but an end that could be the beginning of the key. */
  push(chunk: Uint8Array): Buffer {
    const clean = this.#replace(Buffer.concat([this.#held, chunk]));
    const held = Math.max(0, ...this.#forms.map((form) => beginningAtEnd(clean, form)));
    this.#held = clean.subarray(clean.length - held);
    return clean.subarray(0, clean.length - held);
  }

  /** What was held back. */
  flush(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  /** A short text, such as a header's value, without the key. */
  clean(text: string): string {
    return this.#replace(Buffer.from(text, "latin1")).toString("latin1");
  }

  #replace(bytes: Buffer): Buffer {
    return this.#forms.reduce((clean, form) => {
      const parts: Buffer[] = [];
      let from = 0;
      for (let at = clean.indexOf(form); at >= 0; at = clean.indexOf(form, from)) {
        parts.push(clean.subarray(from, at), PLACEHOLDER);
        from = at + form.length;
      }
      return from === 0 ? clean : Buffer.concat([...parts, clean.subarray(from)]);
    }, bytes);
  }
}

/** How many bytes at the end are a proper beginning of the form. */
function beginningAtEnd(bytes: Buffer, form: Buffer): number {
  for (let length = Math.min(form.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes[bytes.length - length] !== form[0]) continue;
    if (bytes.subarray(bytes.length - length).equals(form.subarray(0, length))) return length;
  }
  return 0;
}
