/** A text, or the bytes of one. */
export type Text = string | Uint8Array;

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** What older editors write. Bytes don't say which of them it is. */
const OLD = ["windows-1252", "windows-1250", "windows-1251", "shift_jis", "gb18030", "euc-kr", "big5"];
/** So many of the first bytes show whether each other one is zero. */
const SAMPLE_BYTES = 8000;

/**
 * A text as it may be meant. More than one of them if its bytes are neither UTF-8 nor UTF-16, and
 * no data. The order is always the same.
 */
export function readText(text: Text): string[] {
  if (typeof text === "string") return [text];
  const wide = wideOf(text);
  if (wide !== null) return [new TextDecoder(wide).decode(text)];
  try {
    return [utf8.decode(text)];
  } catch {
    if (text.subarray(0, SAMPLE_BYTES).includes(0)) return [Buffer.from(text).toString("utf8")];
    return OLD.map((name) => new TextDecoder(name).decode(text));
  }
}

/** The order of bytes if a letter has two of them, by their mark or by the zeros of ASCII. */
function wideOf(text: Uint8Array): "utf-16le" | "utf-16be" | null {
  const [first, second] = text;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const sample = text.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd > sample.length / 8 && even < odd / 8) return "utf-16le";
  return even > sample.length / 8 && odd < even / 8 ? "utf-16be" : null;
}
