import type { IncomingMessage } from "node:http";

/** Slack's own requests are a few kilobytes. A form with all its text stays below this. */
const MAX_BYTES = 512 * 1024;
/** The unfinished bytes that any connection may hold. */
const SMALL_BYTES = 64 * 1024;
/**
 * How many larger bodies may be in progress at a time. This limits the memory that unfinished
 * bodies take, no matter who sends them.
 */
const MAX_LARGE = 32;
/**
 * Pieces of a body are joined at this number, because each piece takes more memory than its bytes.
 */
const MAX_PIECES = 64;

/**
 * A whole body, or why there is none. `isFar` is true if so much more would follow that the
 * connection has to be closed.
 */
type RequestBody =
  | { kind: "read"; body: Buffer }
  | { kind: "too-large"; isFar: boolean }
  | { kind: "busy" }
  | { kind: "gone" };

/** Reads bodies of unverified requests in bounded memory. */
export class RequestBodies {
  #large = 0;

  /**
   * Never rejects. Reads on a little after refusing a body, so that the answer reaches the client.
   */
  async read(request: IncomingMessage): Promise<RequestBody> {
    const announcedBytes = Number(request.headers["content-length"] ?? 0);
    if (announcedBytes > 2 * MAX_BYTES) return { kind: "too-large", isFar: true };
    if (announcedBytes > MAX_BYTES) {
      drop(request);
      return { kind: "too-large", isFar: false };
    }
    const { promise, resolve } = Promise.withResolvers<RequestBody>();
    let pieces: Buffer[] = [];
    let bytes = 0;
    let isLarge = false;
    const take = (piece: Buffer): void => {
      bytes += piece.length;
      if (bytes > MAX_BYTES) return resolve({ kind: "too-large", isFar: false });
      if (bytes > SMALL_BYTES && !isLarge) {
        if (this.#large >= MAX_LARGE) return resolve({ kind: "busy" });
        isLarge = true;
        this.#large += 1;
      }
      pieces.push(piece);
      if (pieces.length > MAX_PIECES) pieces = [Buffer.concat(pieces)];
    };
    request.on("data", take);
    request.once("end", () => resolve({ kind: "read", body: Buffer.concat(pieces) }));
    request.once("close", () => resolve({ kind: "gone" }));
    request.once("error", () => resolve({ kind: "gone" }));
    try {
      return await promise;
    } finally {
      request.off("data", take);
      if (!request.readableEnded) drop(request);
      if (isLarge) this.#large -= 1;
    }
  }
}

/**
 * Reads on for a while. If the connection closed in the middle of a body, the answer might be lost.
 */
function drop(request: IncomingMessage): void {
  let leftBytes = MAX_BYTES;
  request.on("data", (piece: Buffer) => {
    leftBytes -= piece.length;
    if (leftBytes < 0) request.destroy();
  });
}
