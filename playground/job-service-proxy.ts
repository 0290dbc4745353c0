import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { closeNow, listenOnLoopback } from "../world/loopback-server.ts";

/** A proxy between the app and the job service, which can make faults. */
export interface JobServiceProxy extends AsyncDisposable {
  /** The address of the job service as the app knows it. It stays the same through all faults. */
  readonly url: string;
  readonly isDown: boolean;
  readonly isSlow: boolean;
  /** While down, it refuses connections and cuts open ones. */
  setDown(isDown: boolean): Promise<void>;
  /** While slow, it holds every request for a time before it passes it on. */
  setSlow(isSlow: boolean): void;
}

const SLOW_MS = 8000;
const UPSTREAM_TIMEOUT_MS = 30_000;

/**
 * Listens on loopback and passes every request on to the address that `target` returns. Null means
 * that there is none yet.
 */
export async function startJobServiceProxy(options: {
  port: number;
  target: () => string | null;
}): Promise<JobServiceProxy> {
  let isDown = false;
  let isSlow = false;
  const server = createServer((request, response) => {
    void pass(request, response, options.target, () => (isSlow ? SLOW_MS : 0));
  });
  let port = await listenOnLoopback(server, options.port);

  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get isDown() {
      return isDown;
    },
    get isSlow() {
      return isSlow;
    },
    async setDown(wanted) {
      if (wanted === isDown) return;
      isDown = wanted;
      if (wanted) await closeNow(server);
      else port = await listenOnLoopback(server, port);
    },
    setSlow(wanted) {
      isSlow = wanted;
    },
    async [Symbol.asyncDispose]() {
      await closeNow(server);
    },
  };
}

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  targetOf: () => string | null,
  delayMs: () => number,
): Promise<void> {
  // A hang-up on either side ends this exchange only.
  request.on("error", () => response.destroy());
  response.on("error", () => request.destroy());
  await wait(delayMs(), undefined, { ref: false });
  const address = targetOf();
  if (response.destroyed) return;
  if (address === null) {
    response.writeHead(503, { "retry-after": "1" }).end();
    return;
  }
  const target = new URL(address);
  const upstream = httpRequest(
    {
      host: target.hostname,
      port: target.port,
      method: request.method,
      path: request.url,
      headers: { ...request.headers, host: target.host },
      timeout: UPSTREAM_TIMEOUT_MS,
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on("timeout", () => upstream.destroy());
  upstream.on("error", () => response.destroy());
  request.pipe(upstream);
}
