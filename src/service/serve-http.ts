import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Listening, listenWith } from "../listen.ts";

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const REQUEST_GRACE_MS = 5_000;

/** Serves an app over HTTP. Port 0 takes any free one. Rejects with a `StartError` when it cannot listen there. */
export async function serveHttp(
  app: { fetch: (request: Request) => Response | Promise<Response> },
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  const answer = getRequestListener((request) => app.fetch(request));
  return listenWith(
    () =>
      createServer(
        {
          headersTimeout: HEADERS_TIMEOUT_MS,
          requestTimeout: REQUEST_TIMEOUT_MS,
          maxHeaderSize: 16 * 1024,
        },
        (request, response) => void answer(request, response),
      ),
    {
      host,
      port,
      graceMs: REQUEST_GRACE_MS,
      remedy: "Put a free port, or an address of this machine, in the settings under listen.",
    },
  );
}
