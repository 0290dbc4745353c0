import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Listening, listenWith } from "../src/process/listen.ts";
import { serveCommands } from "./cli/command-socket.ts";
import type { ServiceConfig } from "./config/config.ts";
import { createJobService, type JobServiceDeps } from "./job-service.ts";
import { openServiceDatabase } from "./jobs/state-file.ts";

export type ServeDeps = Omit<JobServiceDeps, "config" | "database"> & {
  config: ServiceConfig;
  /**
   * Awaited once the state is ours, before anything listens. When it rejects, so does the start.
   */
  prepare?: () => Promise<void>;
  /** Called when all turns have stopped. */
  close?: () => Promise<void>;
};

/** A running job service: HTTP and tasks, on its own state file. */
export type RunningJobService = AsyncDisposable & {
  /** `http://host:port` */
  url: string;
  /**
   * Stops listening, lets running turns go on for `graceMs`, then aborts them, to run again after
   * the next start.
   */
  stop(graceMs: number): Promise<void>;
  /**
   * Aborts running turns at once, also while `stop` still grants them time. Waits a bounded time
   * for their agents to end.
   */
  abort(): Promise<void>;
};

/**
 * Starts the service. Rejects with a `StartError`, and holds nothing then, if the state or address
 * is unavailable.
 */
export async function startJobService(deps: ServeDeps): Promise<RunningJobService> {
  const { config, logger } = deps;
  // Released in reverse order, whether the start fails half-way or a stop ends it.
  await using starting = new AsyncDisposableStack();
  const database = await openServiceDatabase(config, deps);
  starting.defer(() => database.close());
  starting.defer(async () => deps.close?.());
  await deps.prepare?.();
  const service = createJobService({ ...deps, database });
  // It takes commands for as long as turns may still run.
  starting.use(await serveCommands(config.dataDir, (command) => service.runCommand(command), logger));
  let graceMs = 0;
  starting.defer(() => service.stop(graceMs));
  const listening = await serveHttp(service.app, config.listen);
  starting.defer(() => listening.close());
  // Closing waits for the requests that are being answered.
  starting.defer(() => service.expectStop());
  await service.start();
  const resources = starting.move();
  return {
    url: listening.url,
    async stop(forMs) {
      graceMs = forMs;
      await resources.disposeAsync();
    },
    abort: () => service.stop(0),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** What agents get to end after the second signal. */
const ABORT_MS = 3_000;
/**
 * What an ordered stop may take beyond the grace of running turns, before the process ends all the
 * same.
 */
const FORCED_AFTER_GRACE_MS = 30_000;

/**
 * Serves until SIGTERM or SIGINT, then stops within `stopGraceMinutes` and half a minute. A second
 * signal grants running turns no more time; `forceExit` is called within seconds of it, at once on
 * a third one, and when the stop takes too long. Unfinished turns run again after the next start in
 * any case.
 */
export async function serveUntilSignal(
  deps: ServeDeps,
  signals: Pick<NodeJS.Process, "on">,
  forceExit: () => void,
): Promise<void> {
  const { config, logger, clock } = deps;
  await using service = await startJobService(deps);
  const graceMs = config.stopGraceMinutes * 60_000;
  const asked = new Promise<string>((resolve) => {
    let count = 0;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      signals.on(signal, () => {
        count += 1;
        if (count === 1) return resolve(signal);
        if (count > 2) return forceExit();
        logger.warn({ signal }, "stopping at once: unfinished turns run again after the next start");
        clock.wakeAt(clock.now() + ABORT_MS, forceExit);
        void service.abort().then(forceExit, forceExit);
      });
    }
  });
  logger.info(
    { address: service.url, projects: config.projects.map(({ id }) => id), data_dir: config.dataDir },
    "job service is ready",
  );
  const signal = await asked;
  logger.info({ signal, grace_ms: graceMs }, "stopping");
  const cancel = clock.wakeAt(clock.now() + graceMs + FORCED_AFTER_GRACE_MS, () => {
    logger.error({}, "the stop took too long: unfinished turns run again after the next start");
    forceExit();
  });
  await service.stop(graceMs);
  cancel();
  logger.info({}, "stopped");
}

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
