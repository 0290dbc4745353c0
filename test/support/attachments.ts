/** The smallest possible PNG, with one pixel. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Makes an attachment in the form in which clients send it. */
export function makeAttachment(name = "shot.png", mediaType = "image/png", content: Buffer | string = PNG) {
  return { name, mediaType, data: Buffer.from(content).toString("base64") };
}

/** Makes a file of this size that begins like a PNG. */
export function pngOf(bytes: number): Buffer {
  return Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length, 7)]);
}
