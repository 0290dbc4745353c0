import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import { codeOf } from "../core/errors.ts";

type Decoded = { body: string; reason: null } | { body: null; reason: string };
type Decompress = (bytes: Buffer, maxBytes: number) => Promise<Buffer>;

const [ungzip, unzlib, undeflate, unbrotli, unzstd] = [
  promisify(gunzip),
  promisify(inflate),
  promisify(inflateRaw),
  promisify(brotliDecompress),
  promisify(zstdDecompress),
];

const DECOMPRESS: Record<string, Decompress> = {
  gzip: (bytes, maxOutputLength) => ungzip(bytes, { maxOutputLength }),
  "x-gzip": (bytes, maxOutputLength) => ungzip(bytes, { maxOutputLength }),
  // RFC 9110 says zlib, but some servers send the raw form, which begins differently (RFC 1950,
  // section 2.2).
  deflate: (bytes, maxOutputLength) =>
    ((bytes[0] ?? 0) & 0x0f) === 0x08
      ? unzlib(bytes, { maxOutputLength })
      : undeflate(bytes, { maxOutputLength }),
  br: (bytes, maxOutputLength) => unbrotli(bytes, { maxOutputLength }),
  zstd: (bytes, maxOutputLength) => unzstd(bytes, { maxOutputLength }),
};
/** More encodings than a service and a gateway in front of it would apply. */
const MAX_ENCODINGS = 3;

/**
 * Decodes a body with this `Content-Encoding` to text, with at most `maxBytes` bytes at every step.
 * Returns null and the reason if that fails. Never rejects.
 */
export async function decodeBody(
  bytes: Buffer,
  encodings: string | string[] | undefined,
  maxBytes: number,
): Promise<Decoded> {
  const names = [encodings ?? []]
    .flat()
    .flatMap((list) => list.split(","))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MAX_ENCODINGS) return unreadable(`a body in ${names.length} encodings`);
  let decoded = bytes;
  // In reverse order, because the last one named was applied last.
  for (const name of names.toReversed()) {
    const decompress = Object.hasOwn(DECOMPRESS, name) ? DECOMPRESS[name] : undefined;
    if (decompress === undefined) return unreadable("a body in an encoding that isn't supported");
    if (decoded.length === 0) break;
    try {
      decoded = await decompress(decoded, maxBytes);
    } catch (thrown) {
      if (codeOf(thrown) === "ERR_BUFFER_TOO_LARGE") {
        return unreadable(`a body of more than ${maxBytes} bytes`);
      }
      return unreadable(`a body that can't be decompressed (${name})`);
    }
  }
  return { body: new TextDecoder().decode(decoded), reason: null };
}

function unreadable(reason: string): Decoded {
  return { body: null, reason };
}
