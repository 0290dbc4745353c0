const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];

/**
 * Returns a function that takes a JSON text's next bytes, and returns them without those that are
 * beyond a limit in a text. What is left is still JSON. Hardly looks at what it leaves out.
 */
export function createTextCutter(maxTextBytes: number): (chunk: Uint8Array) => Uint8Array[] {
  /** The bytes of the text that is being read. Negative outside of texts. */
  let length = -1;
  /** How many more bytes belong to an escape sequence. */
  let escaped = 0;
  let isLeftOut = false;

  return (chunk) => {
    const kept: Uint8Array[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (isLeftOut) {
        at = endOfText(chunk, at);
        from = at;
      }
      const byte = chunk[at];
      if (byte === undefined) break;
      if (length < 0) {
        if (byte === QUOTE) length = 0;
        continue;
      }
      length += 1;
      // A "u" is followed by four digits, none of which is one.
      if (escaped > 0) escaped = byte === LETTER_U ? 4 : escaped - 1;
      else if (byte === QUOTE) [length, isLeftOut] = [-1, false];
      else if (length > maxTextBytes && isFirstByte(byte)) {
        kept.push(chunk.subarray(from, at));
        isLeftOut = true;
        at -= 1;
      } else if (byte === BACKSLASH) escaped = 1;
    }
    return isLeftOut ? kept : [...kept, chunk.subarray(from)];
  };

  /** Where the text's last quote is, or where the chunk ends. */
  function endOfText(chunk: Uint8Array, start: number): number {
    // What is escaped may be at the beginning of the next chunk.
    let after = start + escaped;
    escaped = 0;
    for (;;) {
      const quote = chunk.indexOf(QUOTE, after);
      const end = quote < 0 ? chunk.length : quote;
      let backslashes = 0;
      while (end - backslashes > after && chunk[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const isEscaped = backslashes % 2 === 1;
      if (quote < 0 && isEscaped) escaped = 1;
      if (quote < 0 || !isEscaped) return end;
      after = quote + 1;
    }
  }
}

/** True if a character begins with this byte, in UTF-8. */
function isFirstByte(byte: number): boolean {
  return (byte & 0xc0) !== 0x80;
}
