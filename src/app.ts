import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { HTTPReceiver, SocketModeReceiver } from "@slack/bolt";
import { WebClient } from "@slack/web-api";
import type { WebClientOptions } from "@slack/web-api";
import { BoltApp } from "./bolt-app.ts";
import type { Config } from "./config.ts";
import type { Clock } from "./core/clock.ts";
import { formatDuration } from "./core/duration.ts";
import type { Logger } from "./core/logger.ts";
import { JobRecord, Posts, ThreadRecord } from "./core/records.ts";
import type { TaskQueue } from "./core/task-queue.ts";
import { Turn } from "./core/turn.ts";
import { createHealth } from "./health.ts";
import { Draft } from "./intake/deps.ts";
import { registerIntake } from "./intake/index.ts";
import { createHttpJobService } from "./job-client/http-job-service.ts";
import type { SlackClock } from "./replies/slack-clock.ts";
import { createSlackDirectory } from "./replies/slack-directory.ts";
import { createSlackNotifier } from "./replies/slack-notifier.ts";
import { createSingleTeam } from "./replies/slack-teams.ts";
import type { SlackIdentity } from "./replies/slack-teams.ts";
import { connectSocket, disconnectSocket } from "./socket-mode.ts";
import { slackLogger } from "./slack-logger.ts";
import type { Store } from "./store/open-store.ts";
import { createTaskHandler } from "./tasks/index.ts";

const SLACK_TIMEOUT_MS = 10_000;
/** What handlers that have already acknowledged get to finish at a stop. */
const DRAIN_MS = 1000;
const DAY_MS = 24 * 60 * 60_000;

export type AppDeps = {
  config: Config;
  client: WebClient;
  /** The clock that `client` was made with. */
  slackClock: SlackClock;
  identity: SlackIdentity;
  store: Store;
  queue: TaskQueue;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
};

export type DocsAgentApp = {
  /** Answers Slack's requests (in HTTP mode) and the health probes. */
  requestListener: (request: IncomingMessage, response: ServerResponse) => void;
  /** Begins to work: runs tasks and, in Socket Mode, connects to Slack. */
  start(): Promise<void>;
  /** Ends work: nothing new comes in, running tasks get `graceMs` and are released after it. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/** A Web API client that leaves retrying to the task queue: posting is not idempotent, and a 429 must not hold up other calls. */
export function createSlackClient(config: Config, slackClock: SlackClock, logger: Logger): WebClient {
  return new WebClient(config.slack.botToken, {
    ...clientOptions(config, logger),
    fetch: slackClock.watching(fetch),
  });
}

function clientOptions(config: Config, logger: Logger): WebClientOptions {
  return {
    slackApiUrl: config.slack.apiUrl,
    logger: slackLogger(logger),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: SLACK_TIMEOUT_MS,
  };
}

/** Wires the Slack app. Listens to nothing until it is told to. */
export function createApp(deps: AppDeps): DocsAgentApp {
  const { config, client, slackClock, identity, store, queue, clock, random, logger } = deps;
  const { receive } = config.slack;
  const names = config.projects.map((project) => project.name);
  const projects: [string, ...string[]] = [config.projects[0].name, ...names.slice(1)];

  const records = {
    turns: store.records("turn", Turn),
    posts: store.records("posts", Posts),
    jobs: store.records("job", JobRecord),
    threads: store.records("thread", ThreadRecord),
  };
  const jobServices = new Map(
    config.projects.map(({ name, id, baseUrl, apiKey }) => [
      name,
      createHttpJobService({ baseUrl, projectId: id, apiKey, timeoutMs: config.jobServiceTimeoutMs }),
    ]),
  );
  const teams = createSingleTeam({ client, identity });
  const watchedFor = formatDuration(config.polling.deadlineMs);
  const handler = createTaskHandler({
    clock,
    random,
    logger,
    queue,
    records,
    notifier: createSlackNotifier({
      teams,
      presentation: { projects, watchedFor, httpOrigins: config.httpOrigins },
      slackClock,
      logger,
      fetch,
      timeoutMs: SLACK_TIMEOUT_MS,
    }),
    directory: createSlackDirectory({ teams, logger }),
    jobServices,
    polling: config.polling,
    retentionMs: config.retentionDays * DAY_MS,
  });

  const receiver =
    receive.kind === "http"
      ? new HTTPReceiver({ signingSecret: receive.signingSecret, logger: slackLogger(logger) })
      : new SocketModeReceiver({
          appToken: receive.appToken,
          logger: slackLogger(logger),
          installerOptions: {
            clientOptions: {
              ...clientOptions(config, logger),
              // Reconnecting is this client's only call; given up, it would be an unhandled rejection.
              rejectRateLimitedCalls: false,
              retryConfig: { forever: true, factor: 1.3, maxTimeout: 30_000 },
            },
          },
        });
  const bolt = new BoltApp({
    receiver,
    token: config.slack.botToken,
    botId: identity.botId,
    botUserId: identity.botUserId,
    tokenVerificationEnabled: false,
    convoStore: false,
    logger: slackLogger(logger),
    clientOptions: clientOptions(config, logger),
  });
  registerIntake(bolt, {
    queue,
    drafts: store.records("draft", Draft),
    turns: records.turns,
    projects,
    clock,
    logger,
  });

  const health = createHealth({ client, store, queue, clock, receiver });
  let stopped: Promise<void> | null = null;

  async function stop(graceMs: number): Promise<void> {
    if (receiver instanceof SocketModeReceiver) await disconnectSocket(receiver);
    await Promise.race([bolt.drain(), setTimeout(DRAIN_MS, undefined, { ref: false })]);
    await queue.stop(graceMs);
    // Closing waits for calls under way; those of released tasks are not waited for.
    const closed = Promise.all([...jobServices.values()].map((service) => service.close()));
    await Promise.race([closed, setTimeout(DRAIN_MS, undefined, { ref: false })]);
  }

  return {
    requestListener(request, response) {
      if (health(request, response)) return;
      if (receiver instanceof HTTPReceiver) {
        try {
          receiver.requestListener(request, response);
          return;
        } catch {
          // Bolt throws for every path that is not its own.
        }
      }
      response.writeHead(404).end();
    },
    async start() {
      queue.start(handler);
      if (receiver instanceof SocketModeReceiver) await connectSocket(receiver);
    },
    stop(graceMs) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}
