import type { IncomingMessage } from "node:http";

/** Slack's own requests are a few kilobytes; a form with all its text stays below this. */
const MAX_BYTES = 512 * 1024;
/** What every connection may hold back unfinished. */
const SMALL_BYTES = 64 * 1024;
/**
 * So many bodies may be larger than that at a time: the memory that unfinished ones take has a
 * limit, whoever sends them.
 */
const MAX_LARGE = 32;
/** A body that comes in crumbs is put together now and then: each piece costs more than a byte. */
const MAX_PIECES = 64;

/**
 * A whole body, or why there is none. `isFar`: so much more comes that only closing the connection
 * ends it.
 */
type RequestBody =
  | { kind: "read"; body: Buffer }
  | { kind: "too-large"; isFar: boolean }
  | { kind: "busy" }
  | { kind: "gone" };

/** Reads bodies of requests nobody has vouched for yet, in bounded memory. */
export class RequestBodies {
  #large = 0;

  /**
   * Never rejects. A little of what it does not keep is read and dropped, so that the answer
   * reaches the client.
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
 * Reads on for a while: closed in the middle of a body, a connection may lose the answer that is on
 * its way.
 */
function drop(request: IncomingMessage): void {
  let leftBytes = MAX_BYTES;
  request.on("data", (piece: Buffer) => {
    leftBytes -= piece.length;
    if (leftBytes < 0) request.destroy();
  });
}
