import type {
  Channel,
  Ephemeral,
  SlackMessage,
  SlackSide,
  User,
  Workspace,
} from "../../world/slack/index.ts";
import type {
  AppSurface,
  Example,
  PageChannel,
  PageContent,
  PageLink,
  PageMessage,
  PagePerson,
  PageState,
  PageThread,
  PendingRetries,
  WeatherState,
} from "./page-protocol.ts";
import { type ReadMarks, unreadMessages } from "./read-marks.ts";

/**
 * The maximum number of a channel's messages on the page. For older messages it only says that they
 * exist.
 */
const MAX_MESSAGES = 300;

/** The dependencies of {@link readPageState}. */
export type PageStateDeps = {
  slack: SlackSide;
  marks: ReadMarks;
  surface: AppSurface;
  links: readonly PageLink[];
  examples: readonly Example[] | null;
  retries: { readonly pending: PendingRetries | null };
};

/** The person who looks, and the channel and thread that they look at. */
export type Look = { as: string; channel?: string | undefined; thread?: string | undefined };

/**
 * Returns everything that the page shows to a person. Throws `NotInWorkspace` for an unknown
 * person. A channel that they can't see counts as no channel.
 */
export function readPageState(deps: PageStateDeps, look: Look, weather: WeatherState | null): PageState {
  const { slack, surface, links, examples, retries } = deps;
  const { workspace } = slack;
  const me = workspace.user(look.as);
  const visible = workspace.channels().filter((channel) => canSee(channel, me));
  const channel = visible.find(({ id }) => id === look.channel);
  return {
    me: me.id,
    team: workspace.team.name,
    bot: { id: workspace.bot.userId, name: workspace.bot.name },
    surface,
    links,
    weather,
    examples,
    pending: retries.pending,
    people: workspace.users().map(personOf),
    channels: visible.map((each) => channelOf(each, me.id, deps)),
    current: channel === undefined ? null : contentOf(channel, look, deps),
    views: slack.openViews(me.id).map(({ id, hash, view, errors, failure }) => {
      const { private_metadata: _, ...shown } = view;
      return { id, hash, view: shown, errors, failure: failure ?? null };
    }),
  };
}

/**
 * Guests see only the channels that they are in:
 * https://slack.com/help/articles/202518103-Understand-guest-roles-in-Slack
 */
export function canSee(channel: Channel, { id, guest }: Pick<User, "id" | "guest">): boolean {
  return (channel.kind === "public" && guest === undefined) || channel.members.has(id);
}

function personOf({ id, display_name, real_name, guest }: User): PagePerson {
  return { id, name: display_name, realName: real_name, isGuest: guest !== undefined };
}

function channelOf(channel: Channel, me: string, { slack, marks }: PageStateDeps): PageChannel {
  const { workspace } = slack;
  const isMember = channel.members.has(me);
  const unread = isMember ? unreadMessages(slack, marks, channel.id, me) : [];
  const isDirect = channel.kind === "im" || channel.kind === "mpim";
  const forMe = unread.filter(({ mentions }) => isDirect || mentions.some((whom) => notifies(whom, me)));
  return {
    id: channel.id,
    name: isDirect ? directName(channel, me, workspace) : channel.name,
    kind: channel.kind,
    withBot: channel.members.has(workspace.bot.userId),
    members: channel.members.size,
    isMember,
    isArchived: channel.isArchived,
    unread: unread.length,
    forMe: forMe.length,
  };
}

function notifies(whom: string, me: string): boolean {
  return whom === `@${me}` || whom === "!here" || whom === "!channel" || whom === "!everyone";
}

function directName({ members }: Channel, me: string, workspace: Workspace): string {
  const others = [...members].filter((id) => id !== me);
  return others.map((id) => workspace.nameOf(id) ?? id).join(", ");
}

function contentOf(channel: Channel, look: Look, deps: PageStateDeps): PageContent {
  const { slack } = deps;
  const all = slack.messages(channel.id);
  const unread = new Set(unreadMessages(slack, deps.marks, channel.id, look.as));
  const ephemerals = slack.ephemerals(look.as).filter((each) => each.channel === channel.id);
  const top = all.filter(
    (message) => message.thread_ts === undefined || message.subtype === "thread_broadcast",
  );
  const shown = [
    ...top.slice(-MAX_MESSAGES).map((message) => messageOf(message, all, unread)),
    ...ephemerals.filter((each) => each.thread_ts === undefined).map((each) => ephemeralOf(each, deps)),
  ].toSorted(byTime);
  return {
    channel: channel.id,
    messages: shown,
    hasEarlier: top.length > MAX_MESSAGES,
    thread: look.thread === undefined ? null : threadOf(look.thread, { all, ephemerals, unread }, deps),
  };
}

function threadOf(
  ts: string,
  {
    all,
    ephemerals,
    unread,
  }: { all: readonly SlackMessage[]; ephemerals: readonly Ephemeral[]; unread: ReadonlySet<SlackMessage> },
  deps: PageStateDeps,
): PageThread | null {
  const thread = all.filter((message) => message.ts === ts || message.thread_ts === ts);
  if (thread[0]?.ts !== ts) return null;
  return {
    ts,
    workStatus: deps.slack.workspace.threadStatuses.drawn(thread[0].channel, ts),
    messages: [
      ...thread.map((message) => messageOf(message, all, unread)),
      ...ephemerals.filter((each) => each.thread_ts === ts).map((each) => ephemeralOf(each, deps)),
    ].toSorted(byTime),
  };
}

function byTime(one: { ts: string }, other: { ts: string }): number {
  return one.ts < other.ts ? -1 : 1;
}

function messageOf(
  message: SlackMessage,
  all: readonly SlackMessage[],
  unread: ReadonlySet<SlackMessage>,
): PageMessage {
  const replies = all.filter((other) => other.thread_ts === message.ts);
  const last = replies.at(-1);
  return {
    ts: message.ts,
    user: message.user,
    text: message.text,
    blocks: message.blocks ?? [],
    isBot: message.bot_id !== undefined,
    isEphemeral: false,
    isEdited: message.edited !== undefined,
    isTombstone: message.subtype === "tombstone",
    isBroadcast: message.subtype === "thread_broadcast",
    isUnread: unread.has(message),
    threadTs: message.thread_ts ?? null,
    reactions: message.reactions ?? [],
    files: (message.files ?? []).map(({ name, mimetype }) => ({ name, type: mimetype })),
    replies:
      last === undefined
        ? null
        : {
            count: replies.length,
            lastTs: last.ts,
            users: [...new Set(replies.map(({ user }) => user))].slice(0, 4),
            isUnread: replies.some((reply) => unread.has(reply)),
          },
  };
}

function ephemeralOf(ephemeral: Ephemeral, { slack }: PageStateDeps): PageMessage {
  return {
    ts: ephemeral.ts,
    user: ephemeral.from,
    text: ephemeral.text,
    blocks: ephemeral.blocks ?? [],
    isBot: ephemeral.from === slack.workspace.bot.userId,
    isEphemeral: true,
    isEdited: false,
    isTombstone: false,
    isBroadcast: false,
    isUnread: false,
    threadTs: ephemeral.thread_ts ?? null,
    reactions: [],
    files: [],
    replies: null,
  };
}
