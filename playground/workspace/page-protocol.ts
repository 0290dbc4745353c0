import * as z from "zod";
import { AgentMood } from "../agent-mood.ts";
import type { MessageBlock, ModalView } from "../../world/slack/block-kit/blocks.ts";

/**
 * The protocol between the page and the playground. Both sides are checked against this file, so it
 * uses neither Node nor the browser.
 */

const id = z.string().min(1).max(255);
const ts = z.string().regex(/^\d{1,12}\.\d{6}$/);
const pressed = { actionId: id, blockId: id, option: z.string().max(200).optional() };

/** What was typed into a modal's inputs, by block and action. */
const typed = z.record(z.string(), z.record(z.string(), z.string().max(40_000)));

/** A small file in a message, with `content` in base64. */
const attached = z.strictObject({
  name: id,
  mimetype: z.string().max(255),
  content: z.base64().max(180_000),
});

/** Something that a person does on the page. */
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
  z.strictObject({ kind: z.literal("click-in-view"), viewId: id, values: typed, ...pressed }),
  z.strictObject({ kind: z.literal("submit"), viewId: id, values: typed }),
  z.strictObject({ kind: z.literal("close-view"), viewId: id }),
  z.strictObject({ kind: z.literal("dismiss"), messageTs: ts }),
  z.strictObject({ kind: z.literal("read"), channel: id, threadTs: ts.optional(), ts }),
  z.strictObject({ kind: z.literal("join"), channel: id }),
  z.strictObject({ kind: z.literal("open-direct-message") }),
]);

/**
 * The result of an act: Slack's word for a delivery that the app didn't take, and the channel to go
 * to.
 */
export type ActResult = { failure?: string; channel?: string };

/** Slack's present way of answering the app's calls. */
export type SlackWeather = z.infer<typeof SlackWeather>;
const SlackWeather = z.enum(["clear", "rate-limited", "unavailable"]);

/** The faults that are switched on now. */
export type WeatherState = {
  slack: SlackWeather;
  isJobServiceDown: boolean;
  isJobServiceSlow: boolean;
  isAppRunning: boolean;
  /** Null if the agent isn't the rule-based one, because only that one has moods. */
  agent: AgentMood | null;
};

/** A change of the weather. */
export type WeatherAction = z.infer<typeof WeatherAction>;
export const WeatherAction = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("slack"), slack: SlackWeather }),
  z.strictObject({ kind: z.literal("job-service-down"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("job-service-slow"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("app-running"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("agent"), mood: AgentMood }),
]);

/** The parts of the app's manifest that matter in Slack. */
export type AppSurface = {
  /** The bot scopes that the app asks for when it is installed. */
  scopes: string[];
  /** The events that the app subscribes to. */
  events: string[];
  appName: string;
  commands: { command: string; description: string; usageHint: string }[];
  /** The entries of a message's menu. */
  messageShortcuts: { name: string; callbackId: string; description: string }[];
};

/** A request that the agent understands, and its effect. */
export type Example = { request: string; does: string };

/**
 * The number of events that the app didn't take, and the time at which the next of them is sent
 * again, in epoch milliseconds.
 */
export type PendingRetries = { count: number; nextAtMs: number };

/** A link at the top of the page. */
export type PageLink = { label: string; url: string };

/** A message as one person sees it. */
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
  /** Reactions by the emoji's short name, with the people who added them. */
  reactions: { name: string; users: string[] }[];
  files: { name: string; type: string }[];
  replies: { count: number; lastTs: string; users: string[]; isUnread: boolean } | null;
};

/** A person whom the user of the page can act as. */
export type PagePerson = { id: string; name: string; realName: string; isGuest: boolean };

/** A conversation in the list, as one person sees it. */
export type PageChannel = {
  id: string;
  name: string;
  kind: "public" | "private" | "im" | "mpim";
  withBot: boolean;
  members: number;
  isMember: boolean;
  isArchived: boolean;
  unread: number;
  /** The number of unread messages that would notify this person. */
  forMe: number;
};

/** A modal on this person's screen. */
export type PageView = {
  id: string;
  /** Changes whenever the view changes. */
  hash: string;
  view: Omit<ModalView, "private_metadata">;
  errors: Record<string, string>;
  failure: string | null;
};

/** A thread that is open beside its channel. */
export type PageThread = {
  ts: string;
  messages: PageMessage[];
  /** The app's status in the thread, without the app's name. */
  workStatus: string | null;
};

/** The content of one channel. */
export type PageContent = {
  channel: string;
  messages: PageMessage[];
  hasEarlier: boolean;
  thread: PageThread | null;
};

/** Everything that the page shows to one person. */
export type PageState = {
  me: string;
  team: string;
  bot: { id: string; name: string };
  surface: AppSurface;
  links: readonly PageLink[];
  weather: WeatherState | null;
  /**
   * Requests that a newcomer can try. Empty if the agent is an unknown one, and null if nothing is
   * explained.
   */
  examples: readonly Example[] | null;
  pending: PendingRetries | null;
  people: PagePerson[];
  channels: PageChannel[];
  current: PageContent | null;
  views: PageView[];
};

/** The answer of `/api/state`. */
export type StateAnswer = PageState & {
  /**
   * Changes with every start of the page's server, so that an old page knows that it must reload.
   */
  epoch: string;
  version: number;
};
