import { DocsAgentError } from "../../src/shared/errors.ts";
import { type AppManifest, AppManifests } from "./app-manifests.ts";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";
import { Deliverer, type SlackDelivery, type DeliveryOutcome, type RedeliverOptions } from "./deliver.ts";
import { type Call, Faults } from "./faults.ts";
import { Limits, type LimitSettings } from "./limits.ts";
import type { Ephemeral, SlackMessage } from "./messages.ts";
import { Person } from "./person.ts";
import { ResponseUrls } from "./response-urls.ts";
import { type CallHook, type Download, createSlackServer } from "./server.ts";
import { SocketModeSide } from "./socket-mode.ts";
import { Triggers } from "./triggers.ts";
import type { WorkspaceSnapshot } from "./snapshot.ts";
import type { HomeView } from "./block-kit/blocks.ts";
import { type OpenView, Views } from "./views.ts";
import { visibleText } from "./visible-text.ts";
import type { NewChannel, NewUser } from "./entities.ts";
import { Workspace } from "./workspace.ts";

export type { SlackDelivery, DeliveryOutcome, RedeliverOptions } from "./deliver.ts";
export type { Call, Fault, FaultRule } from "./faults.ts";
export { DISTRIBUTED_APP, INTERNAL_APP } from "./limits.ts";
export type { Limits, LimitSettings, Rate } from "./limits.ts";
export type { Ephemeral, MessageAttachment, SlackMessage, Metadata } from "./messages.ts";
export type { MentionOutcome, Person } from "./person.ts";
export { ImpossibleForAPerson } from "./refusal.ts";
export type { CallHook } from "./server.ts";
export { WorkspaceSnapshot } from "./snapshot.ts";
export type { SocketModeSide } from "./socket-mode.ts";
export type { OpenView } from "./views.ts";
export { SLACKBOT } from "./messages.ts";
export type { TypedPart } from "./typed-text.ts";
export { visibleText } from "./visible-text.ts";
export { NotInWorkspace } from "./workspace.ts";
export type { Channel, NewChannel, NewUser, TokenState, User } from "./entities.ts";
export type { Workspace } from "./workspace.ts";

export type SlackSideOptions = {
  /** The port. 0 is any free port of 127.0.0.1. @default 0 */
  port?: number;
  /**
   * Epoch milliseconds. They decide timestamps, triggers, response URLs and rates.
   * @default Date.now
   */
  now?: () => number;
  /** The limits for the app from the start. @default none */
  limits?: LimitSettings;
  /** The bot scopes that the app was installed with: those of the manifest. */
  scopes: readonly string[];
  /** The events that the app subscribed to: those of the manifest. @default mentions */
  events?: readonly string[];
  /** True if the app is declared as an agent in its settings. @default false */
  isAgent?: boolean;
  /** False if the app's settings have no Home tab. @default true */
  hasHome?: boolean;
  signingSecret: string;
  botToken: string;
  /** The token for Socket Mode. Without it, nothing connects that way. */
  appToken?: string;
  /** An App Configuration Token, which creates and changes apps. */
  configToken?: string;
  /** The manifests of the apps that are there, by their ids. @default none */
  manifests?: Readonly<Record<string, AppManifest>>;
  /** The address for Slack's requests. It may be set later. */
  appUrl?: string;
  /** The time that the app has for an ack. @default 3000, as at Slack */
  ackTimeoutMs?: number;
  /** The people and channels that exist from the start. */
  seed?: { users?: NewUser[]; channels?: NewChannel[] };
  /** The workspace as it was saved. `seed` is added to it. */
  saved?: WorkspaceSnapshot | undefined;
};

/**
 * The scope that each event needs. An app without it doesn't get the event. See
 * https://docs.slack.dev/reference/events
 */
const EVENT_SCOPES: Readonly<Record<string, string>> = {
  "message.channels": "channels:history",
  "message.groups": "groups:history",
  "message.im": "im:history",
  "message.mpim": "mpim:history",
};

/** Nothing in the workspace fulfilled the condition in time. */
class NothingHappened extends DocsAgentError {
  readonly code = "NOTHING_HAPPENED";
}

/** A running Slack with one app: a server on loopback, its workspace, and the people in it. */
export interface SlackSide extends AsyncDisposable {
  /** The root of the Web API, for `SLACK_API_URL`. It ends in a slash. */
  readonly apiUrl: string;
  readonly workspace: Workspace;
  readonly faults: Faults;
  readonly socketMode: SocketModeSide;
  /** The apps that were made from manifests. */
  readonly manifests: AppManifests;
  /** Every call that the app made, in order of arrival. */
  readonly calls: readonly Call[];
  /** Every request for a file. */
  readonly downloads: readonly Download[];
  /** The calls that were answered with HTTP 429, because of a limit or a fault. */
  readonly refusedCalls: readonly Call[];
  readonly limits: Limits;
  setAppUrl(url: string | undefined): void;
  /** Adds a hook around every call. The returned function removes it. */
  onCall(hook: CallHook): () => void;
  person(userId: string): Person;
  /** Sends a delivery again, byte for byte unless the options say otherwise. */
  redeliver(delivery: SlackDelivery, options?: RedeliverOptions): Promise<DeliveryOutcome>;
  /** Returns the messages that are visible in a channel, including replies, oldest first. */
  messages(channelId: string): SlackMessage[];
  /** Returns a message and its replies, oldest first. */
  thread(channelId: string, ts: string): SlackMessage[];
  /** Returns the ephemeral messages that one person sees now. Without an id, those of everybody. */
  ephemerals(userId?: string): Ephemeral[];
  /** Returns the modals that a person has open. The last one is in front. */
  openViews(userId: string): OpenView[];
  /** Returns the blocks of a person's Home tab. Undefined if the app has published none. */
  home(userId: string): HomeView["blocks"] | undefined;
  /**
   * Returns the direct messages between the bot and a person. Empty if there is no conversation.
   */
  dm(userId: string): SlackMessage[];
  /** Returns what a person reads in a message: see {@link visibleText}, with names. */
  readonly visibleText: (message: Parameters<typeof visibleText>[0]) => string;
  /**
   * Tries `probe` now and at every change, and resolves to its first value that is neither
   * `undefined` nor false.
   */
  until<Value>(probe: () => Value | undefined | false, timeoutMs?: number): Promise<Value>;
  /** Stops the server and ends every connection, including calls that hang. */
  close(): Promise<void>;
}

/** Starts a Slack that listens on loopback. */
export async function createSlackSide(options: SlackSideOptions): Promise<SlackSide> {
  const now = options.now ?? Date.now;
  const limits = new Limits(now, options.limits);
  const slackNow = () => limits.slackNow();
  const workspace = new Workspace(slackNow, options.saved);
  for (const user of options.seed?.users ?? []) workspace.addUser(user);
  for (const channel of options.seed?.channels ?? []) workspace.addChannel(channel);
  const views = new Views(workspace);
  views.isHomeEnabled = options.hasHome !== false;
  const triggers = new Triggers(slackNow);
  const responseUrls = new ResponseUrls(workspace, slackNow);
  const socketMode = new SocketModeSide(workspace.bot.appId);
  const manifests = new AppManifests(options.manifests);
  const faults = new Faults();
  const events = (options.events ?? ["app_mention"]).filter((name) => {
    const scope = EVENT_SCOPES[name];
    return scope === undefined || options.scopes.includes(scope);
  });
  const calls: Call[] = [];
  const downloads: Download[] = [];
  const hooks = new Set<CallHook>();
  const deliverer = new Deliverer({
    signingSecret: options.signingSecret,
    socketMode,
    ackTimeoutMs: options.ackTimeoutMs ?? 3000,
    // Apps compare these times with their own clock, so they come from the real clock.
    signingNow: () => Date.now() + (limits.settings.clockAheadMs ?? 0),
    appUrl: options.appUrl,
  });
  const server = createSlackServer({
    context: {
      workspace,
      views,
      triggers,
      socketMode,
      manifests,
      limits,
      scopes: options.scopes,
      events,
      isAgent: options.isAgent === true,
    },
    tokens: { bot: options.botToken, app: options.appToken, config: options.configToken },
    responseUrls,
    socketMode,
    faults,
    calls,
    downloads,
    hooks,
    limits,
    now,
  });
  const port = await listenOnLoopback(server, options.port ?? 0);
  const baseUrl = `http://127.0.0.1:${port}/`;
  workspace.filesUrl = baseUrl;
  socketMode.listenAt(baseUrl);
  responseUrls.listenAt(baseUrl);

  async function close(): Promise<void> {
    if (!server.listening) return;
    socketMode.close();
    await closeNow(server);
  }

  return {
    apiUrl: `${baseUrl}api/`,
    workspace,
    faults,
    socketMode,
    manifests,
    calls,
    downloads,
    get refusedCalls() {
      return calls.filter(({ result }) => result === "ratelimited");
    },
    limits,
    setAppUrl: (url) => deliverer.setAppUrl(url),
    onCall(hook) {
      hooks.add(hook);
      return () => hooks.delete(hook);
    },
    person: (userId) => new Person(userId, { workspace, views, triggers, responseUrls, deliverer, events }),
    redeliver: (delivery, redeliverOptions) => deliverer.redeliver(delivery, redeliverOptions),
    messages: (channelId) => workspace.log(channelId).visible(),
    thread: (channelId, ts) => workspace.log(channelId).thread(ts),
    ephemerals: (userId) => workspace.ephemerals(userId),
    openViews: (userId) => views.openFor(userId),
    home: (userId) => views.homeOf(userId)?.view.blocks,
    dm: (userId) => messagesOfDm(workspace, userId),
    visibleText: (message) => visibleText(message, (id) => workspace.nameOf(id)),
    until: (probe, timeoutMs) => untilChanged(workspace, probe, timeoutMs),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function messagesOfDm(workspace: Workspace, userId: string): SlackMessage[] {
  const dm = workspace
    .channels()
    .find(({ kind, members }) => kind === "im" && members.has(userId) && members.has(workspace.bot.userId));
  return dm === undefined ? [] : workspace.log(dm.id).visible();
}

async function untilChanged<Value>(
  workspace: Workspace,
  probe: () => Value | undefined | false,
  timeoutMs = 10_000,
): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  function look(): void {
    try {
      const value = probe();
      if (value !== undefined && value !== false) resolve(value);
    } catch (thrown) {
      reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }
  const stop = workspace.onChange(look);
  // The condition may also depend on something else, such as the job service.
  const looking = setInterval(look, 100);
  const timer = setTimeout(
    () =>
      reject(
        new NothingHappened(
          `Nothing fitting happened in Slack within ${timeoutMs} ms. Looked for: ${String(probe)}`,
        ),
      ),
    timeoutMs,
  );
  look();
  try {
    return await promise;
  } finally {
    stop();
    clearInterval(looking);
    clearTimeout(timer);
  }
}
