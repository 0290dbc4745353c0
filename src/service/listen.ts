import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { StartError } from "../start-error.ts";

/** A server that listens. */
export type Listening = AsyncDisposable & {
  /** `http://host:port` */
  url: string;
  /** Takes no new request and waits, for a bounded time, for those under way. Idempotent. */
  close(): Promise<void>;
};

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const REQUEST_GRACE_MS = 5_000;

/** Serves an app over HTTP. Port 0 takes any free one. Rejects with a {@link StartError} when it cannot listen there. */
export async function listen(
  app: { fetch: (request: Request) => Response | Promise<Response> },
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  const answer = getRequestListener((request) => app.fetch(request), { overrideGlobalObjects: false });
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: 16 * 1024 },
    (request, response) => void answer(request, response),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new StartError(
          `Cannot listen on ${host} port ${port} (${error.code ?? error.message}). Put a free port, or an address of this machine, in the settings under listen.`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
  let closed: Promise<void> | null = null;
  const close = () => (closed ??= closeServer(server));
  return { url: urlOf(server), close, [Symbol.asyncDispose]: close };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") return String(address);
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => server.closeAllConnections(), REQUEST_GRACE_MS).unref();
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
