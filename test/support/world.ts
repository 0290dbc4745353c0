import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import type { RedisClientType } from "@redis/client";
import { inject } from "vitest";
import { createApp } from "../../src/app/app.ts";
import { RedisTaskQueue } from "../../src/shared/queue/redis/redis-task-queue.ts";
import { openBackend } from "../../src/app/backend.ts";
import type { Backend } from "../../src/app/backend.ts";
import type { Clock } from "../../src/shared/machine/ports.ts";
import type { AppQueue } from "../../src/app/rules/records.ts";
import { createSteadyClock } from "../../src/shared/machine/steady-clock.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { createSlackSide } from "../../world/slack/index.ts";
import type {
  LimitSettings,
  SlackMessage,
  OpenView,
  SlackSide,
  WorkspaceSnapshot,
} from "../../world/slack/index.ts";
import { DEFAULT_API_KEY, DEFAULT_PROJECT_ID, startJobServiceSide } from "../../world/job-service/side.ts";
import type { JobServiceSide, JobServiceSideOptions } from "../../world/job-service/side.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { need } from "./need.ts";
import { readManifest } from "./manifest.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { openRedisClient, redisPrefix, textOfKeys } from "./redis.ts";
import { serverTimeOf, untilIdle } from "./redis-time.ts";
import { withoutStop } from "./status-buttons.ts";
import { openTempDir } from "./temp-dir.ts";

/** The app's bot token. */
export const BOT_TOKEN = "xoxb-1234567890-abcdefghijkl";
/** The app's app-level token. */
export const APP_TOKEN = "xapp-1-A1234567890-abcdefghijkl";
/** The secret that signs Slack's requests. */
export const SIGNING_SECRET = "8f742231b10e8888abcd9912345685a5";
/** Every secret of the app, which must not appear anywhere. */
export const SECRETS = [BOT_TOKEN, APP_TOKEN, SIGNING_SECRET, DEFAULT_API_KEY];

/** Options of {@link World}. */
export type WorldOptions = {
  /** Added to the app's environment. Undefined removes a variable. */
  env?: Record<string, string | undefined>;
  jobService?: JobServiceSideOptions;
  socketMode?: boolean;
  /** The start of the clock, in epoch milliseconds. */
  startMs?: number;
  /** True if the app is declared as an agent, as manifest.yml says how. */
  isAgent?: boolean;
  /** Bot scopes of the manifest that are missing in the installation. */
  withoutScopes?: string[];
  /** Slack's limits for the app from the start. */
  slackLimits?: LimitSettings;
  /** @default always 0.5 */
  random?: () => number;
  /** The Slack workspace of an earlier run. */
  workspace?: WorkspaceSnapshot;
  /**
   * Called before the app starts, for example to put a state file where the app will look for it.
   */
  prepare?: (world: World) => void;
};

/**
 * The app while it runs. `clock` is the app's own, which doesn't move if somebody sets the
 * machine's clock.
 */
type RunningApp = { queue: Queue; clock: Clock; url: string; stop: () => Promise<void> };
/** The part of a queue that tests ask, for any backend. */
type Queue = Pick<AppQueue, "counts"> & { idle(): Promise<void>; nextDueAt(): Promise<number | null> };

/** Whole suites also run on Redis: `npx vitest run --project redis`. */
const IS_ON_REDIS = process.env["TEST_STORE"] === "redis";
let redisClient: Promise<RedisClientType> | undefined;

function clientOfFile(): Promise<RedisClientType> {
  redisClient ??= openRedisClient(inject("redisUrl"));
  return redisClient;
}

/** Ana, who is in #docs with Ben and the bot in every test. #random is without the bot. */
export const ANA = "U0ANA";
/** Ben, who is in #docs with Ana. */
export const BEN = "U0BEN";
/** The channel #docs, which the bot is in. */
export const DOCS = "C0DOCS";
/** The channel #random, which the bot isn't in. */
export const RANDOM = "C0RANDOM";
/** A private channel, with Ana in it. */
export const SECRET_CHANNEL = "C0SECRET";

/** Starts a Slack, also for tests that start the app in a process of its own. */
export async function startSlackSide(
  options: {
    now?: () => number;
    appUrl?: string;
    saved?: WorkspaceSnapshot | undefined;
    limits?: LimitSettings;
    withoutScopes?: readonly string[];
    /** Events that the app subscribes to in addition to the manifest's. */
    moreEvents?: readonly string[];
    /** True if the app is declared as an agent. */
    isAgent?: boolean;
    /** False if the app's settings have no Home tab. @default as manifest.yml says */
    hasHome?: boolean;
    configToken?: string;
    /** The manifests of apps, by their ids. */
    manifests?: Record<string, Record<string, unknown>>;
  } = {},
): Promise<SlackSide> {
  const { withoutScopes = [], moreEvents = [], ...others } = options;
  const manifest = readManifest(options.isAgent === true);
  const slack = await createSlackSide({
    hasHome: manifest.features.app_home.home_tab_enabled,
    ...others,
    events: [...manifest.settings.event_subscriptions.bot_events, ...moreEvents],
    scopes: manifest.oauth_config.scopes.bot.filter((scope) => !withoutScopes.includes(scope)),
    signingSecret: SIGNING_SECRET,
    botToken: BOT_TOKEN,
    appToken: APP_TOKEN,
    seed: {
      users: [
        { id: ANA, name: "ana", realName: "Ana Lima", displayName: "Ana" },
        { id: BEN, name: "ben", realName: "Ben Okoro", displayName: "Ben" },
      ],
      channels: [
        { id: DOCS, name: "docs", members: [ANA, BEN] },
        { id: RANDOM, name: "random", members: [ANA, BEN] },
        { id: SECRET_CHANNEL, name: "secret", members: [ANA], isPrivate: true },
      ],
    },
  });
  slack.workspace.invite(DOCS);
  return slack;
}

function queueOf({ queue }: Backend, clock: Clock): Queue {
  const counts = () => queue.counts();
  if (queue instanceof RedisTaskQueue) {
    return { counts, idle: () => untilIdle(() => queue, clock), nextDueAt: () => queue.nextDueAt() };
  }
  return { counts, idle: () => queue.idle(), nextDueAt: async () => queue.nextDueAt() };
}

/** Makes the environment of an app between these two sides. */
export function environment(
  slack: SlackSide,
  service: Pick<JobServiceSide, "baseUrl">,
  options: WorldOptions = {},
) {
  return {
    SLACK_BOT_TOKEN: BOT_TOKEN,
    ...(options.socketMode === true
      ? { SLACK_APP_TOKEN: APP_TOKEN }
      : { SLACK_SIGNING_SECRET: SIGNING_SECRET }),
    SLACK_API_URL: slack.apiUrl,
    HOST: "127.0.0.1",
    PORT: "0",
    DOCS_AGENT_BASE_URL: service.baseUrl,
    DOCS_AGENT_PROJECT_ID: DEFAULT_PROJECT_ID,
    DOCS_AGENT_API_KEY: DEFAULT_API_KEY,
    // Long enough for a machine that is busy with other tests. Tests of a silent service make it
    // shorter.
    JOB_SERVICE_TIMEOUT_MS: "5000",
    ...options.env,
  };
}

/**
 * The whole product in this process: the real app on a real HTTP port, between a Slack and a job
 * service that are real servers too. Only time is moved by hand.
 */
export class World implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly slack: SlackSide;
  readonly service: JobServiceSide;
  readonly logger: RecordingLogger;
  readonly #options: WorldOptions;
  readonly #storePath: string;
  readonly #storeUrl: string;
  readonly #serverNow: () => number;
  readonly #resources: AsyncDisposableStack;
  #app: RunningApp | null = null;

  static async start(options: WorldOptions = {}): Promise<World> {
    const resources = new AsyncDisposableStack();
    const clock = new ManualClock(options.startMs);
    const dir = resources.use(await openTempDir());
    const slack = resources.use(
      await startSlackSide({
        now: () => clock.now(),
        saved: options.workspace,
        limits: options.slackLimits ?? {},
        withoutScopes: options.withoutScopes ?? [],
        isAgent: options.isAgent ?? false,
        // As docs/conversations.md says about FOLLOW_UPS.
        moreEvents: options.env?.["FOLLOW_UPS"] === undefined ? [] : ["message.channels", "message.groups"],
      }),
    );
    const monotonicMs = () => clock.monotonicMs();
    const service = resources.use(await startJobServiceSide({ ...options.jobService, monotonicMs }));
    let storeUrl = `sqlite://${dir.file("state.sqlite")}`;
    if (IS_ON_REDIS) {
      need("redis-server");
      const redis = redisPrefix(inject("redisUrl"));
      storeUrl = redis.url;
    }
    const world = new World({
      clock,
      slack,
      service,
      options,
      storePath: dir.file("state.sqlite"),
      storeUrl,
      resources,
    });
    resources.defer(() => world.stopApp());
    options.prepare?.(world);
    await world.startApp();
    return world;
  }

  private constructor(parts: {
    clock: ManualClock;
    slack: SlackSide;
    service: JobServiceSide;
    options: WorldOptions;
    storePath: string;
    storeUrl: string;
    resources: AsyncDisposableStack;
  }) {
    this.clock = parts.clock;
    this.#serverNow = serverTimeOf(parts.clock);
    this.slack = parts.slack;
    this.service = parts.service;
    this.logger = new RecordingLogger();
    this.#options = parts.options;
    this.#storePath = parts.storePath;
    this.#storeUrl = parts.storeUrl;
    this.#resources = parts.resources;
  }

  get storePath(): string {
    return this.#storePath;
  }

  /** Resolves to everything that is stored, as text. The app must be off. */
  async stored(): Promise<string> {
    const prefix = new URL(this.#storeUrl).searchParams.get("prefix");
    if (prefix !== null) return textOfKeys(await clientOfFile(), `{${prefix}}`);
    using db = new DatabaseSync(this.#storePath, { readOnly: true });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return JSON.stringify(tables.map(({ name }) => db.prepare(`SELECT * FROM "${String(name)}"`).all()));
  }

  /** The address that the app listens on. */
  get appUrl(): string {
    return this.#running().url;
  }

  /** Starts the app on its stored state. After {@link stopApp} this is a restart. */
  async startApp(): Promise<void> {
    const { logger, slack, service } = this;
    const clock = createSteadyClock(this.clock);
    const config = loadConfig({
      ...environment(slack, service, this.#options),
      STORE_URL: this.#storeUrl,
      ...this.#options.env,
    });
    const backend = await openBackend({
      config,
      clock,
      logger,
      ownerWaitMs: 0,
      serverNow: this.#serverNow,
    });
    const { store } = backend;
    const queue = queueOf(backend, clock);
    const app = createApp({ config, backend, clock, random: this.#options.random ?? (() => 0.5), logger });
    const server = createServer(app.requestListener);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`;
    slack.setAppUrl(`${url}/slack/events`);
    await app.start();
    this.#app = {
      queue,
      clock,
      url,
      stop: async () => {
        server.close();
        server.closeAllConnections();
        await app.stop(0);
        await store.close();
      },
    };
  }

  async stopApp(): Promise<void> {
    await this.#app?.stop();
    this.#app = null;
  }

  /** Lets everything happen that is due now. */
  async settle(): Promise<void> {
    await this.#idle();
  }

  /** Lets `ms` pass, and everything happen in order that falls due in that time. */
  async pass(ms: number): Promise<void> {
    const endMs = this.clock.monotonicMs() + ms;
    for (;;) {
      await this.#idle();
      const nextInMs = await this.#nextInMs();
      if (nextInMs > endMs - this.clock.monotonicMs()) break;
      this.clock.advance(Math.max(nextInMs, 1));
    }
    this.clock.advance(endMs - this.clock.monotonicMs());
    await this.#idle();
  }

  /** Lets `ms` pass without the app, which is started again. Days in which it polls take long. */
  async passWithoutApp(ms: number): Promise<void> {
    await this.stopApp();
    this.clock.advance(ms);
    await this.startApp();
    await this.settle();
  }

  /**
   * Lets time pass, task by task, until `probe` gives something. Fails after `withinMs` of the
   * app's time.
   */
  async until<T>(probe: () => T | undefined | false, withinMs = 600_000): Promise<T> {
    const endMs = this.clock.monotonicMs() + withinMs;
    for (;;) {
      await this.#idle();
      const value = probe();
      if (value !== undefined && value !== false) return value;
      const nextInMs = await this.#nextInMs();
      if (nextInMs > endMs - this.clock.monotonicMs())
        throw new Error(`nothing more is due, and it has not come true: ${String(probe)}`);
      this.clock.advance(Math.max(nextInMs, 1));
    }
  }

  /** Resolves to the form in front of a person, as soon as the app has opened it. */
  async form(userId: string): Promise<OpenView> {
    return this.slack.until(() => this.slack.openViews(userId).at(-1));
  }

  /**
   * Returns what a person reads in a channel, messages and replies, oldest first, without the
   * buttons of a status message.
   */
  read(channelId: string): string[] {
    return this.slack.messages(channelId).map((message) => withoutStop(this.slack.visibleText(message)));
  }

  /** Returns the bot's replies in a thread. */
  replies(channelId: string, ts: string): SlackMessage[] {
    const { botId } = this.slack.workspace.bot;
    return this.slack
      .thread(channelId, ts)
      .filter((message) => message.ts !== ts && message.bot_id === botId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  /**
   * Resolves when nothing is due and nothing runs, except requests that wait until the job service
   * reports a change.
   */
  async #idle(): Promise<void> {
    const { queue } = this.#running();
    const { feed } = this.service;
    if (feed === null) return await queue.idle();
    for (let quiet = 0; quiet < 2; quiet += 1) {
      const { running } = await queue.counts();
      if (running > feed.heldUntilMs.length || (await this.#nextInMs()) <= 0) quiet = -1;
      await sleep(2);
    }
  }

  /**
   * Resolves to the milliseconds until something happens by itself: a task is due, or the job
   * service stops waiting for a change.
   */
  async #nextInMs(): Promise<number> {
    const { queue, clock } = this.#running();
    const dueAt = (await queue.nextDueAt()) ?? Infinity;
    const heldForMs = (this.service.feed?.heldUntilMs ?? []).map((ms) => ms - this.clock.monotonicMs());
    return Math.min(dueAt - clock.now(), ...heldForMs);
  }

  #running(): RunningApp {
    if (this.#app === null) throw new Error("the app is not running");
    return this.#app;
  }
}
