import { createServer } from "node:http";
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "./app.ts";
import { openBackend } from "./backend.ts";
import { check, warnOfSilence } from "./check.ts";
import { type Config, contactWarning, loadConfig, PORT_REMEDY, secretsOf } from "./config/config.ts";
import { loadEnvFile } from "../shared/machine/env-file.ts";
import type { Logger } from "../shared/machine/ports.ts";
import { serveMetrics } from "../shared/machine/serve-metrics.ts";
import { listenWith } from "../shared/machine/listen.ts";
import { isProxied } from "../shared/machine/proxy.ts";
import { isRedisUrl, shownStoreUrl } from "../shared/store/redis/redis-location.ts";
import { StartError } from "../shared/errors.ts";
import type { StopSignals } from "../shared/machine/stop-signals.ts";
import { createLogger, createSystemClock } from "../shared/machine/clock-and-log.ts";
import { commandOf } from "../shared/machine/this-copy.ts";

const HELP = `Docs Agent for Slack

Usage: ${commandOf("start")}
       ${commandOf("start", "--check")}   tries everything, and says what to fix

Turns "/docs-agent <what to change>" and the message shortcut "Fix these docs" into jobs at an agent job
service, and reports how they end in the same Slack thread.

Settings come from the environment, or from a file .env; .env.example describes every one. Required:
  SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (HTTP) or SLACK_APP_TOKEN (Socket Mode)
  DOCS_AGENT_BASE_URL, DOCS_AGENT_PROJECT_ID, DOCS_AGENT_API_KEY

While it runs:
  POST /slack/events   Slack's requests (HTTP mode)
  GET  /healthz        200 while the process lives
  GET  /readyz         200 while it can take and keep requests; the body says what is wrong with Slack
  GET  /metrics        metrics for Prometheus, at METRICS_ADDRESS if that is set
  SIGTERM, SIGINT      graceful stop within 10 s; a second one forces
`;

/** Time for running tasks to finish after a signal. The whole stop stays below 10 s. */
const TASK_GRACE_MS = 5000;

/**
 * How long a replica behind a proxy keeps accepting requests after a signal. By then, a proxy that
 * checks `/readyz` every second sends them elsewhere. Requests to a socket that is being closed
 * would be lost.
 */
const LEAVE_MS = 2000;

/** Sockets that share the port: see `ListenOptions`. */
const SOCKETS = 8;
const MAX_CONNECTIONS = 1000;
/** Slack waits only 3 s, so a slower request just holds a connection. */
const REQUEST_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 2000;
const REQUEST_GRACE_MS = 1500;

const METRICS_REMEDY =
  "Put a free port in METRICS_ADDRESS. If the job service reads the same .env, " +
  "give it an address of its own in service.yml: metrics.address.";

/**
 * Delay before writing the compile cache for the next start (NODE_COMPILE_CACHE), so that it
 * includes the code of the first requests.
 */
const FLUSH_AFTER_MS = 5000;

type RunOptions = {
  args: string[];
  /** The environment. A file `.env`, if there is one, is added before this is read. */
  env: Record<string, string | undefined>;
  stop: StopSignals;
};

/**
 * Runs the Slack app from its arguments to its end. A signal ends it at any time, even while it
 * starts.
 */
export async function run({ args, env, stop }: RunOptions): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) return void process.stdout.write(HELP);
  const [option] = args;
  if (option !== undefined && option !== "--check") {
    throw new StartError(`There is no option ${option}. See ${commandOf("start", "--help")}.`);
  }
  // Variables that are already set keep their values.
  loadEnvFile(".env", env);
  const config = loadConfig(env);
  // Slack's Web API and response URLs are fetched.
  if (isProxied(config.proxy)) (await import("../shared/machine/dispatcher.ts")).fetchThrough(config.proxy);
  if (option === "--check") {
    const write = (line: string) => process.stdout.write(line);
    const isFine = await check(config, { clock: createSystemClock(), write });
    process.exitCode = isFine ? 0 : 1;
    return;
  }
  const logger = await createLogger({
    level: config.logLevel,
    secrets: secretsOf(config),
    pretty: process.stdout.isTTY,
  });
  stop.logTo(logger);
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => end(logger, thrown));
  }

  // Released in reverse order, whether the start fails half-way or a signal ends it.
  await using resources = new AsyncDisposableStack();
  const starting = start(config, resources, logger);
  const listening = await Promise.race([starting, stop.asked.then(() => null)]);
  if (listening === null) {
    // The process is about to end, so later errors of the start don't matter.
    starting.catch(() => {});
  } else {
    const warning = contactWarning(config);
    if (warning !== null) logger.warn({}, warning);
    logger.info(
      {
        mode: config.slack.receive.kind,
        address: new URL(listening.url).host,
        projects: config.projects.map((project) => project.name),
        store: shownStoreUrl(config.storeUrl),
        ...(listening.missing.length > 0 && { missing: listening.missing }),
      },
      "docs-agent is ready",
    );
    void warnOfSilence(config, logger);
    setTimeout(flushCompileCache, FLUSH_AFTER_MS).unref();
  }
  const signal = await stop.asked;
  logger.info({ signal }, "stopping");
  if (listening !== null) await listening.leave();
  await resources.disposeAsync();
  logger.info({}, "stopped");
}

/** Opens the store, listens, and starts work. */
async function start(config: Config, resources: AsyncDisposableStack, logger: Logger) {
  const clock = createSystemClock();
  const waiting = setTimeout(() => {
    logger.info(
      { store: shownStoreUrl(config.storeUrl) },
      isRedisUrl(config.storeUrl)
        ? "waiting for Redis"
        : "waiting for the process that uses the store to end",
    );
  }, 1000);
  const backend = resources.use(
    await openBackend({ config, clock, logger, onBroken: (error) => end(logger, error) }).finally(() =>
      clearTimeout(waiting),
    ),
  );
  const { metricsAddress } = config;
  // Loaded only when needed, because it slows down the start.
  const metrics =
    metricsAddress === null
      ? null
      : (await import("./app-metrics.ts")).createAppMetrics({ ...backend, clock, logger });
  const app = createApp({
    config,
    backend,
    clock,
    random: Math.random,
    logger,
    ...(metrics !== null && { measure: metrics.measure }),
  });
  let graceMs = TASK_GRACE_MS;
  resources.defer(() => app.stop(graceMs));
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  };
  const listening = resources.use(
    await listenWith(() => createServer(limits, app.requestListener), {
      host: config.host,
      port: config.port,
      remedy: PORT_REMEDY,
      graceMs: REQUEST_GRACE_MS,
      sockets: SOCKETS,
      maxConnections: MAX_CONNECTIONS,
    }),
  );
  if (metricsAddress !== null && metrics !== null) {
    const { url } = resources.use(await serveMetrics(metricsAddress, metrics.registry, METRICS_REMEDY));
    logger.info({ address: new URL(url).host }, "serves metrics");
  }
  await app.start();
  const isReplica = isRedisUrl(config.storeUrl) && config.slack.receive.kind === "http";
  return {
    url: listening.url,
    missing: app.missing(),
    /** Resolves when no proxy sends requests here anymore. */
    async leave(): Promise<void> {
      if (!isReplica) return;
      app.leave();
      await sleep(LEAVE_MS);
      // Tasks kept running in that time.
      graceMs -= LEAVE_MS;
    },
  };
}

/** Ends the process. Nothing is lost: unfinished tasks run again after the next start. */
function end(logger: Logger, thrown: unknown): void {
  logger.error({ err: thrown }, "unforeseen error: ending; unfinished tasks run again after the next start");
  process.exit(1);
}
