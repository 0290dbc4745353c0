/** The smallest PNG there is: one pixel. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** An attachment as a client sends it. */
export function makeAttachment(name = "shot.png", mediaType = "image/png", content: Buffer | string = PNG) {
  return { name, mediaType, data: Buffer.from(content).toString("base64") };
}

/** A PNG of that many bytes, as far as its beginning says. */
export function pngOf(bytes: number): Buffer {
  return Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length, 7)]);
}
