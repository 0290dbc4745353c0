import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";

/**
 * A hook that is called before a request is passed on, and again after its answer is complete but
 * before it is sent back. If it resolves to true, there is no answer.
 */
export type ProxyHook = (phase: "before" | "after", what: string) => Promise<boolean>;

/**
 * Starts a proxy in front of another server on loopback, so that a test can act at each request.
 * `target` is the server's URL, or a function that returns it for each request. If the function
 * throws, the connection is cut.
 */
export async function startHookedProxy(
  target: string | (() => string),
  hook: ProxyHook,
): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    request.on("error", () => response.destroy());
    response.on("error", () => {});
    pass(request, response).catch(() => response.destroy());
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = `${request.method} ${request.url?.replace(/\?.*/, "")}`;
    const body = await buffer(request);
    if (await hook("before", what)) {
      response.destroy();
      return;
    }
    const { hostname, port } = new URL(typeof target === "string" ? target : target());
    const upstream = httpRequest({
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: { ...request.headers, host: `${hostname}:${port}` },
    });
    // This also covers an error after the answer has begun. It must not end the test.
    upstream.on("error", () => response.destroy());
    upstream.end(body);
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    const answerBody = await buffer(answer);
    if (await hook("after", what)) {
      response.destroy();
      return;
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers).end(answerBody);
  }

  return {
    url: `http://127.0.0.1:${await listenOnLoopback(server, 0)}`,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
}
