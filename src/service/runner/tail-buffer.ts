/** Keeps the end of what a program writes. */
export class TailBuffer {
  readonly #maxBytes: number;
  #kept = Buffer.alloc(0);
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    const all = Buffer.concat([this.#kept, chunk]);
    this.#isCut ||= all.length > this.#maxBytes;
    this.#kept = this.#maxBytes === 0 ? Buffer.alloc(0) : all.subarray(-this.#maxBytes);
  }

  /** Whether there was more. */
  get isCut(): boolean {
    return this.#isCut;
  }

  toString(): string {
    return this.#kept.toString("utf8");
  }
}
