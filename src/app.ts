import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Config } from "./config/config.ts";
import type { Clock, Logger } from "./core/ports/process.ts";
import { formatDuration } from "./core/text/text.ts";
import { configuredProject } from "./core/ports/job-service.ts";
import { serviceOf, type ProjectRef } from "./core/job/project.ts";
import type { Backend } from "./backend.ts";
import { createHealth } from "./health.ts";
import { registerIntake } from "./intake/index.ts";
import { createSlackFileReader } from "./intake/slack-file-reader.ts";
import { createSlackThreadReader } from "./intake/slack-thread-reader.ts";
import { createContacts, createHttpJobService } from "./job-client/http-job-service.ts";
import { createSlackDirectory } from "./replies/slack-directory.ts";
import { createSlackMemberships } from "./replies/slack-memberships.ts";
import { createSlackNotifier } from "./replies/slack-notifier.ts";
import { createSlackWorkStatus } from "./replies/slack-work-status.ts";
import { createSlackConnection, SLACK_TIMEOUT_MS } from "./slack/connection.ts";
import { createFirstTries } from "./decisions/deps.ts";
import { createTaskHandler } from "./tasks/index.ts";

/** Time for calls in progress to end at a stop. */
const CLOSE_MS = 1000;
const DAY_MS = 24 * 60 * 60_000;

type AppDeps = {
  config: Config;
  backend: Pick<Backend, "store" | "queue">;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
};

type DocsAgentApp = {
  /** Answers Slack's requests (in HTTP mode) and the health probes. */
  requestListener: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Starts work: runs tasks and, in Socket Mode, connects to Slack. Rejects with a `StartError` if
   * Slack refuses a token. If Slack can't be reached, it keeps trying in the background.
   */
  start(): Promise<void>;
  /**
   * Makes `/readyz` return 503, so that a proxy sends its requests elsewhere. Requests are still
   * accepted.
   */
  leave(): void;
  /**
   * Ends work: nothing new is accepted, and running tasks get `graceMs` before they are released.
   * Idempotent.
   */
  stop(graceMs: number): Promise<void>;
};

/** Wires up the Slack app. It doesn't listen yet. */
export function createApp(deps: AppDeps): DocsAgentApp {
  const { config, clock, random, logger } = deps;
  const { store, queue } = deps.backend;
  const slack = createSlackConnection({
    slack: config.slack,
    proxy: config.proxy,
    // Needed to read replies that don't mention the app.
    wanted: {
      setting: "FOLLOW_UPS",
      scopes: config.followUps === "mention" ? [] : ["channels:history", "groups:history"],
    },
    clock,
    random,
    logger,
  });
  const refs = config.projects.map(({ name, id, baseUrl }) => ({ name, id, service: serviceOf(baseUrl) }));
  const [first, ...others] = refs;
  if (first === undefined) throw new TypeError("The configuration has no project.");
  const projects: [ProjectRef, ...ProjectRef[]] = [first, ...others];
  const contacts = createContacts(clock);
  const configured = config.projects.map(({ name, id, baseUrl, apiKey, idempotencyKeys }) => ({
    service: serviceOf(baseUrl),
    id,
    jobService: createHttpJobService({
      baseUrl,
      projectId: id,
      apiKey,
      idempotencyKeys,
      proxy: config.proxy,
      timeoutMs: config.jobServiceTimeoutMs,
      onAnswer: contacts.noting({ name, id, service: serviceOf(baseUrl) }),
    }),
  }));
  const { records } = store;
  const notifier = createSlackNotifier({
    teams: slack.teams,
    presentation: {
      projects: projects.map(({ name }) => name),
      watchedFor: formatDuration(config.polling.deadlineMs),
      contact: config.helpContact,
      httpOrigins: config.httpOrigins,
    },
    slackClock: slack.slackClock,
    logger,
    fetch: slack.fetch,
    timeoutMs: SLACK_TIMEOUT_MS,
  });
  const { slots, series } = store;
  const { polling } = config;
  const retentionMs = config.retentionDays * DAY_MS;
  const directory = createSlackDirectory({
    teams: slack.teams,
    allowGuests: config.allowGuests,
    clock,
    logger,
  });
  const threadReader = createSlackThreadReader({ teams: slack.teams, clock, logger });
  const firstTries = createFirstTries();
  const stopping = new AbortController();
  const handler = createTaskHandler({
    stopping: stopping.signal,
    clock,
    random,
    logger,
    slots,
    series,
    records,
    notifier,
    firstTries,
    workStatus: createSlackWorkStatus({ teams: slack.teams, clock, logger }),
    directory,
    threadReader,
    fileReader: createSlackFileReader({
      teams: slack.teams,
      apiUrl: config.slack.apiUrl,
      logger,
    }),
    memberships: createSlackMemberships({ teams: slack.teams, clock, logger }),
    contacts,
    jobServices: { of: (project) => configuredProject(configured, project) },
    polling,
    retentionMs,
  });

  registerIntake(slack.bolt, {
    queue,
    records,
    notifier,
    firstTries,
    directory,
    threadReader,
    projects,
    limits: config.limits,
    followUps: config.followUps,
    polling,
    retentionMs,
    clock,
    logger,
  });

  let isLeaving = false;
  const health = createHealth({
    store,
    queue,
    slack: () => slack.report(),
    isLeaving: () => isLeaving,
    clock,
  });
  let stopped: Promise<void> | null = null;

  async function stop(graceMs: number): Promise<void> {
    stopping.abort();
    await slack.stop();
    await queue.stop(graceMs);
    // Closing waits for calls in progress, but those of released tasks don't count.
    const closed = Promise.all(configured.map(({ jobService }) => jobService.close()));
    await Promise.race([closed, setTimeout(CLOSE_MS, undefined, { ref: false })]);
  }

  return {
    requestListener(request, response) {
      if (!health(request, response)) slack.requestListener(request, response);
    },
    async start() {
      await slack.identify();
      queue.start(handler);
      await slack.connect();
    },
    leave() {
      isLeaving = true;
    },
    stop(graceMs) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}
