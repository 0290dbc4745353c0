import * as z from "zod";
import { AgentMood } from "../agent-mood.ts";
import type { MessageBlock, ModalView } from "../../world/slack/block-kit/blocks.ts";

/**
 * What the page and the playground say to each other. Both sides are checked against it; it needs
 * neither's platform.
 */

const id = z.string().min(1).max(255);
const ts = z.string().regex(/^\d{1,12}\.\d{6}$/);
const pressed = { actionId: id, blockId: id, option: z.string().max(200).optional() };

/** A small file of a message; `content` is in base64. */
const attached = z.strictObject({
  name: id,
  mimetype: z.string().max(255),
  content: z.base64().max(180_000),
});

/** What a person does on the page. */
export type PageAct = z.infer<typeof PageAct>;
export const PageAct = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("compose"),
    channel: id,
    text: z.string().max(40_000),
    threadTs: ts.optional(),
    file: attached.optional(),
  }),
  z.strictObject({ kind: z.literal("shortcut"), channel: id, messageTs: ts, callbackId: id }),
  z.strictObject({
    kind: z.literal("click"),
    channel: id,
    messageTs: ts,
    isEphemeral: z.boolean(),
    ...pressed,
  }),
  z.strictObject({ kind: z.literal("click-in-view"), viewId: id, ...pressed }),
  z.strictObject({
    kind: z.literal("submit"),
    viewId: id,
    values: z.record(z.string(), z.record(z.string(), z.string().max(40_000))),
  }),
  z.strictObject({ kind: z.literal("close-view"), viewId: id }),
  z.strictObject({ kind: z.literal("dismiss"), messageTs: ts }),
  z.strictObject({ kind: z.literal("read"), channel: id, threadTs: ts.optional(), ts }),
  z.strictObject({ kind: z.literal("join"), channel: id }),
  z.strictObject({ kind: z.literal("open-direct-message") }),
]);

/**
 * What came of an act: Slack's word for a delivery that the app did not take, and the channel to go
 * to.
 */
export type ActResult = { failure?: string; channel?: string };

/** How Slack answers the app's calls. */
export type SlackWeather = z.infer<typeof SlackWeather>;
const SlackWeather = z.enum(["clear", "rate-limited", "unavailable"]);

/** What goes wrong now. */
export type WeatherState = {
  slack: SlackWeather;
  isJobServiceDown: boolean;
  isJobServiceSlow: boolean;
  isAppRunning: boolean;
  /** Null if it isn't the rule-based agent, because no other can be told how to behave. */
  agent: AgentMood | null;
};

export type WeatherAction = z.infer<typeof WeatherAction>;
export const WeatherAction = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("slack"), slack: SlackWeather }),
  z.strictObject({ kind: z.literal("job-service-down"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("job-service-slow"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("app-running"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("agent"), mood: AgentMood }),
]);

/** What of the app's manifest matters in Slack. */
export type AppSurface = {
  /** The bot scopes it asks to be installed with. */
  scopes: string[];
  /** The events that it hears of. */
  events: string[];
  appName: string;
  commands: { command: string; description: string; usageHint: string }[];
  /** The entries of a message's menu. */
  messageShortcuts: { name: string; callbackId: string; description: string }[];
};

/** A request that the agent understands, and what it does then. */
export type Example = { request: string; does: string };

/**
 * Events that the app did not take, and when the next of them is sent again, in milliseconds since 1970.
 */
export type PendingRetries = { count: number; nextAtMs: number };

export type PageLink = { label: string; url: string };

export type PageMessage = {
  ts: string;
  user: string;
  text: string;
  blocks: MessageBlock[];
  isBot: boolean;
  isEphemeral: boolean;
  isEdited: boolean;
  isTombstone: boolean;
  isBroadcast: boolean;
  isUnread: boolean;
  threadTs: string | null;
  /** Emoji by short name, and who put them under the message. */
  reactions: { name: string; users: string[] }[];
  files: { name: string; type: string }[];
  replies: { count: number; lastTs: string; users: string[]; isUnread: boolean } | null;
};

export type PagePerson = { id: string; name: string; realName: string; isGuest: boolean };

export type PageChannel = {
  id: string;
  name: string;
  kind: "public" | "private" | "im" | "mpim";
  withBot: boolean;
  members: number;
  isMember: boolean;
  isArchived: boolean;
  unread: number;
  /** Of the unread ones those that would notify this person. */
  forMe: number;
};

/** A modal on this person's screen. */
export type PageView = {
  id: string;
  /** Changes with the view. */
  hash: string;
  view: Omit<ModalView, "private_metadata">;
  errors: Record<string, string>;
  failure: string | null;
};

export type PageThread = {
  ts: string;
  messages: PageMessage[];
  /** What the app says of its work there, without its name. */
  workStatus: string | null;
};

/** What one channel shows. */
export type PageContent = {
  channel: string;
  messages: PageMessage[];
  hasEarlier: boolean;
  thread: PageThread | null;
};

/** All that the page shows to one person. */
export type PageState = {
  me: string;
  team: string;
  bot: { id: string; name: string };
  surface: AppSurface;
  links: readonly PageLink[];
  weather: WeatherState | null;
  /** What a newcomer can ask for. Empty if nobody knows the agent. Null if nothing is explained. */
  examples: readonly Example[] | null;
  pending: PendingRetries | null;
  people: PagePerson[];
  channels: PageChannel[];
  current: PageContent | null;
  views: PageView[];
};

/** The answer of `/api/state`. */
export type StateAnswer = PageState & {
  /** Changes with every start of the page, so that an old page knows to load again. */
  epoch: string;
  version: number;
};
