import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Hono } from "hono";

/**
 * A fault that a request meets. Nothing takes effect unless it says so.
 *
 * - `http`: this status, headers and body
 * - `drop-before`: the connection breaks
 * - `drop-after`: the request takes effect, then the connection breaks without an answer
 */
export type CodeHostFault =
  | { kind: "http"; status: number; headers?: Record<string, string>; body?: string }
  | { kind: "drop-before" }
  | { kind: "drop-after" };

/**
 * The traffic of a code host, for tests to watch and disturb. A request is its method, a space, and
 * its path with query.
 */
export type Traffic = {
  /** The requests in order of arrival. */
  readonly requests: readonly string[];
  /** A function that is awaited before a request is served. */
  before: ((request: string) => Promise<void>) | undefined;
  /** Returns the fault that a request meets, if any. */
  fault: ((request: string, body: string) => CodeHostFault | undefined) | undefined;
};

/** Returns the listener of an HTTP server that serves `app`, and its traffic. */
export function serveWithFaults(app: Hono): { traffic: Traffic; listener: RequestListener } {
  const requests: string[] = [];
  const traffic: Traffic = { requests, before: undefined, fault: undefined };
  const listener = getRequestListener(
    async (request, { outgoing }) => {
      const { pathname, search } = new URL(request.url);
      const name = `${request.method} ${pathname}${search}`;
      requests.push(name);
      await traffic.before?.(name);
      const fault = traffic.fault?.(name, pathname.endsWith("graphql") ? await request.clone().text() : "");
      if (fault === undefined) return app.fetch(request);
      if (fault.kind === "http") {
        const { status, headers = {}, body = '{"message":"fault"}' } = fault;
        return new Response(body, { status, headers });
      }
      // The answer is read to its end, because its last part may come with the request's last
      // effect.
      if (fault.kind === "drop-after") await (await app.fetch(request)).arrayBuffer();
      outgoing.destroy();
      return RESPONSE_ALREADY_SENT;
    },
    { overrideGlobalObjects: false },
  );
  return { traffic, listener: (request, response) => void listener(request, response) };
}
