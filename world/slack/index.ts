import { DocsAgentError } from "../../src/shared/errors.ts";
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
import { type OpenView, Views } from "./views.ts";
import { visibleText } from "./visible-text.ts";
import type { NewChannel, NewUser } from "./entities.ts";
import { Workspace } from "./workspace.ts";

export type { SlackDelivery, DeliveryOutcome, RedeliverOptions } from "./deliver.ts";
export type { Call, Fault, FaultRule } from "./faults.ts";
export { distributedApp, internalApp } from "./limits.ts";
export type { Limits, LimitSettings, Rate } from "./limits.ts";
export type { Ephemeral, MessageAttachment, SlackMessage, Metadata } from "./messages.ts";
export type { MentionOutcome, Person } from "./person.ts";
export { ImpossibleForAPerson } from "./refusal.ts";
export type { CallHook } from "./server.ts";
export { WorkspaceSnapshot } from "./snapshot.ts";
export type { SocketModeSide } from "./socket-mode.ts";
export type { OpenView } from "./views.ts";
export { slackbot } from "./messages.ts";
export type { TypedPart } from "./typed-text.ts";
export { visibleText } from "./visible-text.ts";
export { NotInWorkspace } from "./workspace.ts";
export type { Channel, NewChannel, NewUser, TokenState, User } from "./entities.ts";
export type { Workspace } from "./workspace.ts";

export type SlackSideOptions = {
  /** @default 0, a free port of 127.0.0.1 */
  port?: number;
  /**
   * Epoch milliseconds; decides timestamps, triggers, response URLs and rates. @default Date.now
   */
  now?: () => number;
  /** How Slack limits the app from the start. @default not at all */
  limits?: LimitSettings;
  /** The bot scopes the app was installed with: those of the manifest. */
  scopes: readonly string[];
  /** The events that the app hears of: those of the manifest. @default mentions */
  events?: readonly string[];
  signingSecret: string;
  botToken: string;
  /** Without it nothing connects over Socket Mode. */
  appToken?: string;
  /** Where Slack's requests go; may be set later. */
  appUrl?: string;
  /** How long the app has for an ack. @default 3000, as Slack */
  ackTimeoutMs?: number;
  /** Who and what is there from the start. */
  seed?: { users?: NewUser[]; channels?: NewChannel[] };
  /** The workspace as it was saved; `seed` is added to it. */
  saved?: WorkspaceSnapshot | undefined;
};

/**
 * An app hears of no event that it wasn't given the scope for:
 * https://docs.slack.dev/reference/events
 */
const EVENT_SCOPES: Readonly<Record<string, string>> = {
  "message.channels": "channels:history",
  "message.groups": "groups:history",
  "message.im": "im:history",
  "message.mpim": "mpim:history",
};

/** Nothing in the workspace came to satisfy the test within its time. */
class NothingHappened extends DocsAgentError {
  readonly code = "NOTHING_HAPPENED";
}

/**
 * A running Slack for one app: a server on loopback, the workspace behind it, and the people in it.
 */
export interface SlackSide extends AsyncDisposable {
  /** The Web API's root, for `SLACK_API_URL`. Ends in a slash. */
  readonly apiUrl: string;
  readonly workspace: Workspace;
  readonly faults: Faults;
  readonly socketMode: SocketModeSide;
  /** Every call the app made, in order of arrival. */
  readonly calls: readonly Call[];
  /** Every download of a file that was asked for. */
  readonly downloads: readonly Download[];
  /** Those that were answered with HTTP 429, by a limit or a fault. */
  readonly refusedCalls: readonly Call[];
  readonly limits: Limits;
  setAppUrl(url: string | undefined): void;
  /** Adds a hook around every call; the returned function removes it. */
  onCall(hook: CallHook): () => void;
  person(userId: string): Person;
  /** Sends a delivery again, to the byte unless the options say otherwise. */
  redeliver(delivery: SlackDelivery, options?: RedeliverOptions): Promise<DeliveryOutcome>;
  /** What can be seen in a channel, replies included, oldest first. */
  messages(channelId: string): SlackMessage[];
  /** A message and its replies, oldest first. */
  thread(channelId: string, ts: string): SlackMessage[];
  /** The ephemeral messages one person, or anybody, sees now. */
  ephemerals(userId?: string): Ephemeral[];
  /** The modals a person has open, the one in front last. */
  openViews(userId: string): OpenView[];
  /** The direct messages between the bot and a person; none where no conversation was opened. */
  dm(userId: string): SlackMessage[];
  /** What a person reads in a message: see {@link visibleText}, with names. */
  readonly visibleText: (message: SlackMessage | Ephemeral) => string;
  /**
   * Resolves with the first value of `probe` that is not `undefined` or false, tried now and at
   * every change.
   */
  until<Value>(probe: () => Value | undefined | false, timeoutMs?: number): Promise<Value>;
  /** Ends the server and every connection, hanging calls included. */
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
  const triggers = new Triggers(slackNow);
  const responseUrls = new ResponseUrls(workspace, slackNow);
  const socketMode = new SocketModeSide(workspace.bot.appId);
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
    // The real clock's, because apps compare it with theirs.
    signingNow: () => Date.now() + (limits.settings.clockAheadMs ?? 0),
    appUrl: options.appUrl,
  });
  const server = createSlackServer({
    context: { workspace, views, triggers, socketMode, limits, scopes: options.scopes },
    tokens: { bot: options.botToken, app: options.appToken },
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
  // What is waited for may also depend on something else, such as the job service.
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
