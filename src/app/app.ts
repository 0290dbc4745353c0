import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Config } from "./config/config.ts";
import type { Project } from "./config/config-projects.ts";
import type { Clock, Logger } from "../shared/machine/ports.ts";
import { formatDuration } from "../shared/text/text.ts";
import { type Measure, measureNothing } from "./rules/ports/measure.ts";
import { isAskOnly } from "./rules/access.ts";
import { asksForProject } from "./rules/project-choice.ts";
import { configuredProject } from "./rules/ports/job-service.ts";
import { serviceOf, type ProjectRef } from "./rules/project.ts";
import type { Backend } from "./backend.ts";
import { createHealth } from "./health.ts";
import { whyRefused } from "./intake/access.ts";
import { registerIntake } from "./intake/index.ts";
import { createSlackFileReader } from "./slack/slack-file-reader.ts";
import { createSlackMessageReader } from "./slack/slack-message-reader.ts";
import { createSlackThreadReader } from "./slack/slack-thread-reader.ts";
import { createContacts } from "./job-client/contacts.ts";
import { createHttpJobService } from "./job-client/http-job-service.ts";
import { createSlackDirectory } from "./slack/slack-directory.ts";
import { createSlackMemberships } from "./slack/slack-memberships.ts";
import { createSlackNotifier } from "./slack/slack-notifier.ts";
import { createSlackWorkStatus } from "./slack/slack-work-status.ts";
import { createSlackConnection, SLACK_TIMEOUT_MS } from "./slack/connection/connection.ts";
import { wantedScopes } from "./slack/connection/setup.ts";
import { isRedisUrl } from "../shared/store/redis/redis-location.ts";
import { createTaskHandler } from "./tasks/index.ts";
import type { Presentation } from "./messages/blocks.ts";
import { createFirstTries } from "./intake/first-tries.ts";

/** Time for calls in progress to end at a stop. */
const CLOSE_MS = 1000;

type AppDeps = {
  config: Config;
  backend: Pick<Backend, "store" | "queue">;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  /** @default counts nothing */
  measure?: Measure;
};

/** Wires up the Slack app. It doesn't listen yet. */
export function createApp({ config, backend, clock, random, logger, measure = measureNothing }: AppDeps) {
  const { store, queue } = backend;
  const slack = createSlackConnection({
    slack: config.slack,
    proxy: config.proxy,
    // Replicas share one Redis.
    isOnly: !isRedisUrl(config.storeUrl),
    wantedScopes: wantedScopes(config),
    clock,
    random,
    logger,
    measure,
  });
  const projects = projectsOf(config);
  const projectOfChannel = projectOfChannelIn(config);
  const contacts = createContacts(clock);
  const services = createJobServices(config, contacts);
  const inSlack = { team: slack.team, clock, logger };
  const shared = {
    records: store.records,
    series: store.series,
    notifier: createSlackNotifier({
      ...inSlack,
      presentation: presentationOf(config),
      slackClock: slack.slackClock,
      timeoutMs: SLACK_TIMEOUT_MS,
    }),
    firstTries: createFirstTries(),
    directory: createSlackDirectory({ ...inSlack, allowGuests: config.allowGuests }),
    threadReader: createSlackThreadReader(inSlack),
    messageReader: createSlackMessageReader(inSlack),
    fileReader: createSlackFileReader(inSlack),
    memberships: createSlackMemberships(inSlack),
    polling: config.polling,
    retentionMs: config.retentionMs,
    clock,
    logger,
    measure,
  };
  const stopping = new AbortController();
  const handler = createTaskHandler({
    ...shared,
    stopping: stopping.signal,
    random,
    rateLimiter: store.rateLimiter,
    workStatus: createSlackWorkStatus(inSlack),
    contacts,
    jobServices: { of: (project) => configuredProject(services, project) },
    refusalOf: (who) => whyRefused({ ...shared, access: config.access }, who),
  });

  const { limits, access, followUps, helpContact: contact } = config;
  const { httpOrigins } = presentationOf(config);
  registerIntake(slack.bolt, {
    ...shared,
    queue,
    isStoreUnsafe: () => store.isUnsafe(),
    projects,
    projectOfChannel,
    limits,
    access,
    followUps,
    contact,
    httpOrigins,
  });

  let isLeaving = false;
  const report = { slack: () => slack.report(), isLeaving: () => isLeaving };
  const health = createHealth({ store, queue, clock, ...report });

  return {
    /** Answers Slack's requests (in HTTP mode) and the health probes. */
    requestListener: (request: IncomingMessage, response: ServerResponse): void => {
      if (!health(request, response)) slack.requestListener(request, response);
    },
    /**
     * Starts work: runs tasks and, in Socket Mode, connects to Slack. Rejects with a `StartError`
     * if Slack refuses a token. If Slack can't be reached, it keeps trying in the background.
     */
    async start(): Promise<void> {
      await slack.identify();
      queue.start(handler);
      await slack.connect();
    },
    /** What keeps people from using the app, each with what to do, as far as it is known. */
    missing: () => slack.missing(),
    /**
     * Makes `/readyz` return 503, so that a proxy sends its requests elsewhere. Requests are still
     * accepted.
     */
    leave(): void {
      isLeaving = true;
    },
    /**
     * Ends work: nothing new is accepted, and running tasks get `graceMs` before they are released.
     */
    async stop(graceMs: number): Promise<void> {
      stopping.abort();
      await slack.stop();
      await queue.stop(graceMs);
      // Closing waits for calls in progress, but those of released tasks don't count.
      const closed = Promise.all(services.map(({ jobService }) => jobService.close()));
      await Promise.race([closed, setTimeout(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

function projectsOf({ projects: [first, ...others] }: Config): [ProjectRef, ...ProjectRef[]] {
  return [refOf(first), ...others.map(refOf)];
}

function projectOfChannelIn({ projects }: Config): ReadonlyMap<string, string> {
  return new Map(projects.flatMap(({ name, channels }) => channels.map((id) => [id, name] as const)));
}

function refOf({ name, id, baseUrl }: Project): ProjectRef {
  return { name, id, service: serviceOf(baseUrl) };
}

/** A client for each project. */
function createJobServices(
  { projects, proxy, jobServiceTimeoutMs: timeoutMs }: Config,
  contacts: ReturnType<typeof createContacts>,
) {
  return projects.map((project) => {
    const ref = refOf(project);
    const onAnswer = contacts.noting(ref);
    const options = { ...project, projectId: project.id, proxy, timeoutMs, onAnswer };
    return { ...ref, jobService: createHttpJobService(options) };
  });
}

function presentationOf(config: Config): Presentation {
  const { projects, polling, helpContact, httpOrigins } = config;
  return {
    asksForProject: asksForProject({ projectOfChannel: projectOfChannelIn(config) }),
    projects: projects.map(({ name }) => name),
    isAskOnly: (channelId) => isAskOnly(config.access, channelId),
    watchedFor: formatDuration(polling.deadlineMs),
    contact: helpContact,
    httpOrigins,
  };
}
