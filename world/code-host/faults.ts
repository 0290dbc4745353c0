import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Hono } from "hono";

/**
 * What goes wrong with a request. Nothing takes effect unless it says so.
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
 * What a test sees of a code host's traffic, and does to it. A request is its method, a space, and
 * its path with query.
 */
export type Traffic = {
  /** In order of arrival. */
  readonly requests: readonly string[];
  /** Awaited before a request is served. */
  before: ((request: string) => Promise<void>) | undefined;
  /** The fault that strikes this request, if any does. */
  fault: ((request: string, body: string) => CodeHostFault | undefined) | undefined;
};

/** The listener of an HTTP server that serves `app`, and the traffic that goes through it. */
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
      // Read to its end, as the last part of what it does may come with the last of its body.
      if (fault.kind === "drop-after") await (await app.fetch(request)).arrayBuffer();
      outgoing.destroy();
      return RESPONSE_ALREADY_SENT;
    },
    { overrideGlobalObjects: false },
  );
  return { traffic, listener: (request, response) => void listener(request, response) };
}
