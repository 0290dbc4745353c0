import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import { limitPipelining, type Listening, listenWith } from "./listen.ts";

/** Follows "must be". */
export const WANT_METRICS_ADDRESS =
  "an address of this machine and a port, such as 127.0.0.1:9464 or [::1]:9464, or left out for no metrics";

/** Where metrics are served. */
export type MetricsAddress = { host: string; port: number };

/**
 * Reads `host:port`, with an IPv6 address in brackets. Port 0 is any free one. Null if it isn't
 * one.
 */
export function parseMetricsAddress(text: string): MetricsAddress | null {
  const { v6, host, port } =
    /^(?:\[(?<v6>.+)\]|(?<host>[A-Za-z0-9.-]{1,255})):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535 || (v6 !== undefined && !isIPv6(v6))) return null;
  return { host: v6 ?? host ?? "", port: Number(port) };
}

/** The metrics of a program, as text for Prometheus. */
export type MetricsText = { contentType: string; metrics: () => Promise<string> };

const LIMITS = { requestTimeout: 10_000, headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
const MAX_CONNECTIONS = 20;
const GRACE_MS = 500;

/**
 * Serves `GET /metrics` at an address of its own. `remedy` says what the operator can do if it
 * can't listen there. Then it rejects with a `StartError`.
 */
export function serveMetrics(
  { host, port }: MetricsAddress,
  text: MetricsText,
  remedy: string,
): Promise<Listening> {
  const listener = limitPipelining((request, response) => void answer(text, request, response));
  const bounds = { graceMs: GRACE_MS, maxConnections: MAX_CONNECTIONS };
  return listenWith(() => createServer(LIMITS, listener), { host, port, remedy, ...bounds });
}

async function answer(text: MetricsText, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.split("?")[0] !== "/metrics") return void response.writeHead(404).end();
  if (request.method !== "GET" && request.method !== "HEAD") {
    return void response.writeHead(405, { allow: "GET, HEAD" }).end();
  }
  try {
    const body = await text.metrics();
    response.writeHead(200, { "content-type": text.contentType, "cache-control": "no-store" }).end(body);
  } catch {
    response.writeHead(500).end();
  }
}
