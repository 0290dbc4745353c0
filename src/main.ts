import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { createApp, createSlackClient } from "./app.ts";
import { loadConfig, secretsOf } from "./config.ts";
import { DocsAgentError, messageOf } from "./errors.ts";
import type { Logger } from "./core/logger.ts";
import { createLogger } from "./logger.ts";
import { createSqliteTaskQueue } from "./queue/sqlite-task-queue.ts";
import { createSlackClock } from "./replies/slack-clock.ts";
import { identify } from "./slack-identity.ts";
import { StartError } from "./start-error.ts";
import { openStore } from "./store/open-store.ts";
import { createSystemClock } from "./system-clock.ts";

const HELP = `Docs Agent for Slack

Usage: npm start

Turns "/docs-agent <what to change>" and the message shortcut "Fix these docs" into jobs at an agent job service, and
reports how they end in the same Slack thread.

Settings come from the environment, or from a file .env; .env.example describes every one. Required:
  SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (HTTP) or SLACK_APP_TOKEN (Socket Mode)
  DOCS_AGENT_BASE_URL, DOCS_AGENT_PROJECT_ID, DOCS_AGENT_API_KEY

While it runs:
  POST /slack/events   Slack's requests (HTTP mode)
  GET  /healthz        200 while the process lives
  GET  /readyz         200 while store, queue and the connection to Slack work
  SIGTERM, SIGINT      graceful stop within 10 s; a second one forces
`;

/** What running tasks get to finish after a signal; with the rest of the stop it stays below 10 s. */
const TASK_GRACE_MS = 5000;
/** Tasks mostly wait for others: a job service that answers slowly must not hold up what goes to Slack. */
const TASKS_AT_ONCE = 64;
const REQUEST_GRACE_MS = 1500;
const FORCED_AFTER_MS = 9500;

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(HELP);
    return;
  }
  if (args.length > 0) throw new StartError(`There is no option ${args[0]}. See npm start -- --help.`);
  // What is in the environment already stays as it is.
  if (existsSync(".env")) process.loadEnvFile(".env");
  const config = loadConfig(process.env);
  const logger = createLogger({
    level: config.logLevel,
    secrets: secretsOf(config),
    pretty: process.stdout.isTTY,
  });

  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      logger.error(
        { err: thrown },
        "unforeseen error: ending; unfinished tasks run again after the next start",
      );
      process.exit(1);
    });
  }

  // Released in reverse order, whether the start fails half-way or a signal ends it.
  await using resources = new AsyncDisposableStack();
  const clock = createSystemClock();
  const waiting = setTimeout(() => {
    logger.info({ store: config.storeUrl }, "waiting for the process that uses the store to end");
  }, 1000);
  const store = resources.use(
    await openStore({ url: config.storeUrl, clock, logger }).finally(() => clearTimeout(waiting)),
  );
  const queue = createSqliteTaskQueue({ db: store.db, clock, logger, concurrency: TASKS_AT_ONCE });
  const slackClock = createSlackClock({ now: () => clock.now(), monotonicMs: () => performance.now() });
  const client = createSlackClient(config, slackClock, logger);
  const identity = await identify(client);
  const app = createApp({
    config,
    client,
    slackClock,
    identity,
    store,
    queue,
    clock,
    random: Math.random,
    logger,
  });
  resources.defer(() => app.stop(TASK_GRACE_MS));

  const stopping = signalled(logger);
  const server = createServer(app.requestListener);
  await listen(server, config.port, config.host);
  resources.defer(() => closeServer(server));
  await app.start();
  logger.info(
    {
      mode: config.slack.receive.kind,
      address: addressOf(server),
      bot: identity.botName,
      projects: config.projects.map((project) => project.name),
      store: config.storeUrl,
    },
    "docs-agent is ready",
  );
  const signal = await stopping;
  logger.info({ signal }, "stopping");
  await resources.disposeAsync();
  logger.info({}, "stopped");
}

/** Resolves with the first signal that asks for a stop; the second one, or a stop that takes too long, ends the process. */
function signalled(logger: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (asked) {
          logger.warn({ signal }, "stopping at once: unfinished tasks run again after the next start");
          process.exit(1);
        }
        asked = true;
        setTimeout(() => {
          logger.error({}, "the stop took too long: unfinished tasks run again after the next start");
          process.exit(1);
        }, FORCED_AFTER_MS).unref();
        resolve(signal);
      });
    }
  });
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new StartError(
          `Cannot listen on ${host} port ${port} (${error.code ?? error.message}). Put a free one in PORT, or an address of this machine in HOST.`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
}

function addressOf(server: Server): string {
  const address = server.address();
  return address === null || typeof address === "string"
    ? String(address)
    : `${address.address}:${address.port}`;
}

/** Takes no new request and waits, for a bounded time, for those under way. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => server.closeAllConnections(), REQUEST_GRACE_MS).unref();
    server.close(() => resolve());
  });
}

try {
  await main();
} catch (thrown) {
  // Our own errors say what to do; a stack trace would bury it.
  const known = thrown instanceof DocsAgentError;
  process.stderr.write(`${known || !(thrown instanceof Error) ? messageOf(thrown) : thrown.stack}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
