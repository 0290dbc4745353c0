import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";

/**
 * A hook that is called with each piece of an answer before it is passed on. `sentBytes` is the
 * size of the pieces before it. If it resolves to "cut", the connection ends there.
 */
type OnPiece = (piece: { what: string; sentBytes: number; bytes: number }) => Promise<"cut" | void>;

/**
 * Starts a proxy in front of another server on loopback. It passes answers on in pieces of at most
 * `pieceBytes` and counts them. Repositories are large, so it holds nothing back.
 */
export async function startStreamingProxy(target: string, pieceBytes = 64 * 1024) {
  const proxy = {
    url: "",
    /** The size of the answers that were sent, without their headers. */
    sentBytes: 0,
    onPiece: undefined as OnPiece | undefined,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
  const server = createServer((request, response) => {
    for (const side of [request, response]) side.on("error", () => {});
    pass(request, response).catch(() => response.destroy());
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { hostname, port } = new URL(target);
    const headers = { ...request.headers, host: `${hostname}:${port}` };
    const upstream = httpRequest({ hostname, port, method: request.method, path: request.url, headers });
    upstream.on("error", () => response.destroy());
    request.pipe(upstream);
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    response.on("close", () => answer.destroy());
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    const what = `${request.method} ${request.url}`;
    let sentBytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        const piece = chunk.subarray(at, at + pieceBytes);
        if ((await proxy.onPiece?.({ what, sentBytes, bytes: piece.length })) === "cut") {
          response.destroy();
          return;
        }
        sentBytes += piece.length;
        proxy.sentBytes += piece.length;
        await new Promise((resolve) => response.write(piece, resolve));
      }
    }
    response.end();
  }

  proxy.url = `http://127.0.0.1:${await listenOnLoopback(server, 0)}`;
  return proxy;
}
