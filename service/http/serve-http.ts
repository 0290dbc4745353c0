import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Listening, listenWith } from "../../src/process/listen.ts";

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const REQUEST_GRACE_MS = 5_000;
/**
 * Requests that a connection may have sent before it got the answers. Node.js would take some
 * thousand at once, and keep all their answers.
 */
const MAX_PIPELINED = 16;

/**
 * Serves an app over HTTP. Port 0 takes any free one. Rejects with a `StartError` when it cannot
 * listen there.
 */
export async function serveHttp(
  app: { fetch: (request: Request) => Response | Promise<Response> },
  { host, port }: { host: string; port: number },
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
): Promise<Listening> {
  const answer = getRequestListener((request) => app.fetch(request));
  const mayAnswer = countPipelined();
  return listenWith(
    () =>
      createServer(
        {
          headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
          requestTimeout: requestTimeoutMs,
          // Node.js looks every half a minute, and lets them have up to that much more.
          connectionsCheckingInterval: requestTimeoutMs / 30,
          maxHeaderSize: 16 * 1024,
        },
        (request, response) => {
          if (mayAnswer(request, response)) void answer(request, response);
          else request.socket.destroy();
        },
      ),
    {
      host,
      port,
      graceMs: REQUEST_GRACE_MS,
      remedy: "Put a free port, or an address of this machine, in the settings under listen.",
    },
  );
}

/**
 * Counts the requests of each connection that wait for their answers. False: these are too many.
 */
function countPipelined(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const waiting = new WeakMap<Socket, number>();
  return ({ socket }, response) => {
    const now = (waiting.get(socket) ?? 0) + 1;
    if (now > MAX_PIPELINED) return false;
    waiting.set(socket, now);
    response.once("close", () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
    return true;
  };
}
