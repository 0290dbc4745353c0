import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { onStopSignal } from "../shared/machine/stop-signals.ts";
import { serveMetrics } from "../shared/machine/serve-metrics.ts";
import { limitPipelining, type Listening, listenWith } from "../shared/machine/listen.ts";
import { serveCommands } from "./commands/command-socket.ts";
import type { ServiceConfig } from "./config/config.ts";
import { createJobService, type JobServiceDeps } from "./job-service.ts";
import { openServiceDatabase } from "./jobs/state-file.ts";
import type { OwnRunner } from "./own-runner.ts";

export type ServeDeps = Omit<JobServiceDeps, "config" | "database"> & {
  config: ServiceConfig;
  /**
   * Opened once the state is ours, before anything listens: if that rejects, the start does. Closed
   * when all turns have stopped.
   */
  runner: Pick<OwnRunner, "open" | "close" | "isOpen"> | null;
};

const METRICS_REMEDY =
  "Put a free port into the settings under metrics.address. The Slack app's METRICS_ADDRESS counts for the " +
  "service, too, as long as metrics.address isn't set.";

/**
 * Starts the service: HTTP and tasks, with its own state file. If the state or the address is
 * unavailable, rejects with a `StartError` and holds nothing.
 */
export async function startJobService(deps: ServeDeps) {
  const { config, logger } = deps;
  // Released in reverse order, whether the start fails half-way or a stop ends it.
  await using starting = new AsyncDisposableStack();
  const database = await openServiceDatabase(config, deps);
  starting.defer(() => database.close());
  starting.defer(() => deps.runner?.close());
  await deps.runner?.open();
  const { metricsAddress, projects } = config;
  // Loaded only when needed.
  const metrics =
    metricsAddress === null
      ? null
      : (await import("./service-metrics.ts")).createServiceMetrics(projects.map(({ id }) => id));
  const measuring = metrics === null ? {} : { measure: metrics.measure };
  const service = createJobService({ ...deps, database, ...measuring });
  // Accepts commands as long as turns may still be running.
  starting.use(await serveCommands(config.dataDir, (command) => service.doCommand(command), logger));
  let graceMs = 0;
  let isStopping = false;
  const fetchUnlessStopping = (request: Request) =>
    isStopping && !isOfRunner(request) ? refuseWhileStopping() : service.app.fetch(request);
  const listening = await serveHttp({ fetch: fetchUnlessStopping }, config.listen);
  // Runners elsewhere are heard as long as their turns have time.
  starting.defer(() => listening.close());
  starting.defer(() => service.stop(graceMs));
  starting.defer(async () => {
    isStopping = true;
    if (!service.hasWorkElsewhere()) await listening.close();
  });
  if (metricsAddress !== null && metrics !== null) {
    const { addServiceGauges } = await import("./service-gauges.ts");
    const runner = deps.runner ?? { isOpen: false };
    addServiceGauges(metrics.registry, { ...deps, ...service, runner, projects });
    const { url } = starting.use(await serveMetrics(metricsAddress, metrics.registry, METRICS_REMEDY));
    logger.info({ address: url }, "serves metrics");
  }
  // Closing waits for the requests in progress.
  starting.defer(() => service.expectStop());
  await service.start();
  const resources = starting.move();
  return {
    /** `http://host:port` */
    url: listening.url,
    /**
     * Stops listening, lets running turns continue for `forMs`, and then aborts them. They run
     * again after the next start.
     */
    async stop(forMs: number): Promise<void> {
      graceMs = forMs;
      await resources.disposeAsync();
    },
    /**
     * Aborts running turns at once, even while `stop` still gives them time. Waits a limited time
     * for their agents to end.
     */
    abort: () => service.stop(0),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function refuseWhileStopping(): Response {
  const body = { error: "The service stops. Try again." };
  return Response.json(body, { status: 503, headers: { connection: "close" } });
}

function isOfRunner({ url }: Request): boolean {
  return new URL(url).pathname.startsWith("/runner/");
}

/** The time that agents have to end after the second signal. */
const ABORT_MS = 3_000;
/** How much longer than the grace period a stop may take before the process ends anyway. */
const FORCED_AFTER_GRACE_MS = 30_000;

/**
 * Serves until SIGTERM or SIGINT, and then stops within `stopGraceMinutes` and half a minute. After
 * a second signal, running turns get no more time, and `forceExit` is called within seconds. It is
 * also called at once after a third signal, and when the stop takes too long. In any case,
 * unfinished turns run again after the next start.
 */
export async function serveUntilSignal(deps: ServeDeps, forceExit: () => void): Promise<void> {
  const { config, logger, clock } = deps;
  await using service = await startJobService(deps);
  const graceMs = config.stopGraceMinutes * 60_000;
  const asked = Promise.withResolvers<string>();
  let count = 0;
  onStopSignal((signal) => {
    count += 1;
    if (count === 1) return asked.resolve(signal);
    if (count > 2) return forceExit();
    logger.warn({ signal }, "stopping at once: unfinished turns run again after the next start");
    clock.wakeAt(clock.now() + ABORT_MS, forceExit);
    void service.abort().then(forceExit, forceExit);
  });
  logger.info(
    { address: service.url, projects: config.projects.map(({ id }) => id), data_dir: config.dataDir },
    "job service is ready",
  );
  const signal = await asked.promise;
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
 * Serves an app over HTTP. Port 0 means any free one. Rejects with a `StartError` if it can't
 * listen there.
 */
export async function serveHttp(
  app: { fetch: (request: Request) => Response | Promise<Response> },
  { host, port }: { host: string; port: number },
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
): Promise<Listening> {
  const answer = getRequestListener((request) => app.fetch(request));
  const listener = limitPipelining((request, response) => void answer(request, response));
  const limits = {
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    // Node.js checks every half minute, so without this, connections could last that much longer.
    connectionsCheckingInterval: requestTimeoutMs / 30,
    maxHeaderSize: 16 * 1024,
  };
  const remedy = "Put a free port, or an address of this machine, in the settings under listen.";
  return listenWith(() => createServer(limits, listener), { host, port, graceMs: REQUEST_GRACE_MS, remedy });
}
