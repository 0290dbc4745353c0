import { DocsAgentError } from "../../src/shared/errors.ts";
import type {
  UserGroup,
  Bot,
  Channel,
  ChannelKind,
  NewChannel,
  NewMessage,
  NewUser,
  Team,
  TokenState,
  User,
} from "./entities.ts";
import { makeId, makeSecret, Timestamps } from "./ids.ts";
import { type FileSettings, type SlackFile, Uploads } from "./files.ts";
import { mentionsIn } from "./mentions.ts";
import { type Ephemeral, type MessageAttachment, type SlackMessage, Messages } from "./messages.ts";
import type { MessageBlock } from "./block-kit/blocks.ts";
import type { WorkspaceSnapshot } from "./snapshot.ts";
import { ThreadStatuses } from "./thread-statuses.ts";
import { encodeTyped, richTextOf, type TypedPart } from "./typed-text.ts";

/** Something was named that isn't in the workspace. */
export class NotInWorkspace extends DocsAgentError {
  readonly code = "NOT_IN_WORKSPACE";
}

/**
 * A Slack workspace with one app installed: everything that people and the app can see. Listeners
 * are told of changes.
 */
export class Workspace {
  readonly team: Team;
  readonly bot: Bot;
  readonly timestamps: Timestamps;
  readonly threadStatuses: ThreadStatuses;
  readonly uploads = new Uploads();
  /** The address for uploads and downloads of files. It ends in a slash. */
  filesUrl = "";
  readonly fileSettings: FileSettings = { areByIdOnly: false, areNotInMentions: false, readyAtMs: 0 };
  /** The verification token in every payload. Apps are told to ignore it. */
  readonly verificationToken = makeSecret().slice(0, 24);
  /**
   * The effect of a reply to a deleted message without replies. `refuse` answers
   * `thread_not_found`. `unthread` posts it at the top of the channel, as slack-go/slack#1571
   * reports of the real Slack.
   */
  orphanedReplies: "refuse" | "unthread" = "refuse";
  readonly #users = new Map<string, User>();
  readonly #channels = new Map<string, Channel>();
  readonly #groups: UserGroup[] = [];
  readonly #messages = new Map<string, Messages>();
  #ephemerals: Ephemeral[] = [];
  #token: TokenState = "active";
  readonly #listeners = new Set<() => void>();

  /** Makes an empty workspace, or an earlier one as it was saved. */
  constructor(now: () => number, saved?: WorkspaceSnapshot) {
    const domain = "playground";
    this.team = saved?.team ?? {
      id: makeId("T"),
      name: "Playground",
      domain,
      url: `https://${domain}.slack.com/`,
    };
    this.bot = saved?.bot ?? {
      userId: makeId("U"),
      botId: makeId("B"),
      appId: makeId("A"),
      name: "docs-agent",
    };
    this.timestamps = new Timestamps(now);
    this.threadStatuses = new ThreadStatuses(now, () => this.changed());
    for (const user of saved?.users ?? []) this.#users.set(user.id, user);
    for (const channel of saved?.channels ?? []) {
      this.#channels.set(channel.id, { ...channel, members: new Set(channel.members) });
      this.#messages.set(channel.id, new Messages());
    }
    for (const message of saved?.messages ?? []) this.log(message.channel).add(message);
  }

  /** Returns a copy from which a {@link Workspace} can be made again. */
  snapshot(): WorkspaceSnapshot {
    return {
      version: 1,
      team: this.team,
      bot: this.bot,
      users: this.users(),
      channels: this.channels().map((channel) => ({ ...channel, members: [...channel.members] })),
      messages: this.channels().flatMap(({ id }) => this.log(id).visible()),
    };
  }

  get tokenState(): TokenState {
    return this.#token;
  }

  /**
   * Makes every call with the bot token fail with this error, as after an uninstall. `active` ends
   * that.
   */
  revokeToken(state: TokenState = "token_revoked"): void {
    this.#token = state;
  }

  addUser(user: NewUser): User {
    const realName = user.realName ?? user.name;
    const added = {
      id: user.id ?? makeId("U"),
      name: user.name,
      real_name: realName,
      display_name: user.displayName ?? user.name,
      ...(user.guest !== undefined && { guest: user.guest }),
      ...(user.home !== undefined && { home: user.home }),
      ...(user.isDeactivated === true && { isDeactivated: true }),
    };
    this.#users.set(added.id, added);
    this.changed();
    return added;
  }

  /** Adds a user group, which people mention as `<!subteam^S…>`. */
  addGroup(group: UserGroup): void {
    this.#groups.push(group);
    this.changed();
  }

  groups(): readonly UserGroup[] {
    return this.#groups;
  }

  addChannel(channel: NewChannel): Channel {
    return this.#addChannel(channel, channel.isPrivate === true ? "private" : "public");
  }

  /** Returns the direct messages between the bot and these people. Opens them if necessary. */
  openDirectMessage(userIds: readonly string[]): Channel {
    const members = new Set([...userIds, this.bot.userId]);
    const kind = userIds.length === 1 ? "im" : "mpim";
    const open = this.channels().find(
      (channel) =>
        channel.kind === kind &&
        channel.members.size === members.size &&
        [...members].every((id) => channel.members.has(id)),
    );
    if (open !== undefined) return open;
    const name = kind === "im" ? (userIds[0] ?? "") : `mpdm-${userIds.join("--")}`;
    return this.#addChannel({ name, members: [...members] }, kind);
  }

  /** Adds direct messages between people without the bot. */
  addDirectMessageBetween(userIds: readonly string[]): Channel {
    return this.#addChannel({ name: userIds.join("-"), members: [...userIds] }, "im");
  }

  #addChannel(channel: NewChannel, kind: ChannelKind): Channel {
    const prefix = kind === "im" ? "D" : kind === "public" ? "C" : "G";
    const added = {
      id: channel.id ?? makeId(prefix),
      name: channel.name,
      kind,
      members: new Set([...channel.members, ...(channel.withBot === true ? [this.bot.userId] : [])]),
      isArchived: false,
      ...(channel.hostTeamId !== undefined && { hostTeamId: channel.hostTeamId }),
    };
    this.#channels.set(added.id, added);
    this.#messages.set(added.id, new Messages());
    this.changed();
    return added;
  }

  users(): User[] {
    return [...this.#users.values()];
  }

  findUser(id: string): User | undefined {
    return this.#users.get(id);
  }

  user(id: string): User {
    return this.#users.get(id) ?? notHere(`user ${id}`);
  }

  /** Returns the name of a user or of the bot, as people see it. */
  nameOf(id: string): string | undefined {
    if (id === this.bot.userId) return this.bot.name;
    return this.findUser(id)?.display_name ?? this.findChannel(id)?.name;
  }

  channels(): Channel[] {
    return [...this.#channels.values()];
  }

  findChannel(id: string): Channel | undefined {
    return this.#channels.get(id);
  }

  channel(id: string): Channel {
    return this.#channels.get(id) ?? notHere(`channel ${id}`);
  }

  isBotIn(channelId: string): boolean {
    return this.channel(channelId).members.has(this.bot.userId);
  }

  invite(channelId: string, userId: string = this.bot.userId): void {
    this.channel(channelId).members.add(userId);
    this.changed();
  }

  kick(channelId: string, userId: string = this.bot.userId): void {
    this.channel(channelId).members.delete(userId);
    this.changed();
  }

  archiveChannel(channelId: string, isArchived = true): void {
    this.channel(channelId).isArchived = isArchived;
    this.changed();
  }

  findFile(id: string): SlackFile | undefined {
    return this.channels()
      .flatMap((channel) => this.log(channel.id).visible())
      .flatMap(({ files }) => files ?? [])
      .find((file) => file.id === id);
  }

  log(channelId: string): Messages {
    return this.#messages.get(channelId) ?? notHere(`channel ${channelId}`);
  }

  /**
   * Posts a person's message. `text` is as typed: `& < >` are encoded, and URLs become links as
   * Slack stores them. `<@U…>`, `<#C…>` and `<!here>` are names that were picked from the menu. If
   * the text is given in parts, only a pick is a name.
   */
  say(message: {
    channel: string;
    user: string;
    text: string | readonly TypedPart[];
    threadTs?: string;
    files?: readonly (Pick<SlackFile, "name" | "mimetype" | "user"> & { content: Buffer | string })[];
    /** Attachments below it, such as a forwarded message. */
    attachments?: MessageAttachment[];
    /** Blocks below the typed text, such as a table. */
    blocks?: MessageBlock[];
  }): SlackMessage {
    this.user(message.user);
    if (message.threadTs !== undefined) {
      const root = this.log(message.channel).find(message.threadTs);
      if (root === undefined || root.thread_ts !== undefined) notHere(`thread ${message.threadTs}`);
    }
    const text = encodeTyped(message.text);
    const { files = [], blocks = [], ...rest } = message;
    const shared = files.map((file) => ({ ...file, id: makeId("F"), content: Buffer.from(file.content) }));
    const typed = text === "" ? [] : [richTextOf(text)];
    return this.post({
      ...rest,
      text,
      // A message that has only files has no words.
      ...((text !== "" || blocks.length > 0) && { blocks: [...typed, ...blocks] }),
      ...(shared.length > 0 && { files: shared }),
    });
  }

  /** Changes the words of a person's message. `text` is as typed. */
  edit(message: SlackMessage, text: string): void {
    message.text = encodeTyped(text);
    message.blocks = [richTextOf(message.text)];
    message.mentions = mentionsIn(message);
    message.edited = { user: message.user, ts: this.timestamps.next() };
    this.changed();
  }

  /** Adds a message as it is. Whether somebody may post isn't checked. */
  post(draft: NewMessage): SlackMessage {
    const message: SlackMessage = {
      channel: draft.channel,
      ts: this.timestamps.next(),
      user: draft.user,
      text: draft.text,
      deleted: false,
      mentions: mentionsIn(draft, draft.linksNames),
      ...(draft.files !== undefined && { files: draft.files }),
      ...(draft.attachments !== undefined && { attachments: draft.attachments }),
      ...(draft.isFromApp === true && { bot_id: this.bot.botId }),
      ...(draft.blocks !== undefined && { blocks: draft.blocks }),
      ...(draft.threadTs !== undefined && { thread_ts: draft.threadTs }),
      ...(draft.isBroadcast === true && { subtype: "thread_broadcast" as const }),
      ...(draft.metadata !== undefined && { metadata: draft.metadata }),
    };
    this.log(draft.channel).add(message);
    if (draft.isFromApp === true && draft.threadTs !== undefined) {
      this.threadStatuses.posted(draft.channel, draft.threadTs);
    }
    this.changed();
    return message;
  }

  deleteMessage(channelId: string, ts: string): void {
    const message = this.log(channelId).find(ts) ?? notHere(`message ${ts} in ${channelId}`);
    this.log(channelId).remove(message);
    this.changed();
  }

  postEphemeral(draft: Omit<Ephemeral, "ts" | "mentions">): Ephemeral {
    const ephemeral = { ...draft, ts: this.timestamps.next(), mentions: mentionsIn(draft) };
    this.#ephemerals.push(ephemeral);
    this.changed();
    return ephemeral;
  }

  ephemerals(userId?: string): Ephemeral[] {
    return this.#ephemerals.filter(({ user }) => userId === undefined || user === userId);
  }

  removeEphemeral(ephemeral: Ephemeral): void {
    this.#ephemerals = this.#ephemerals.filter((other) => other !== ephemeral);
    this.changed();
  }

  /**
   * Calls `listener` after every change that somebody could see. The returned function ends that.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Announces a change to an object that the workspace handed out. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function notHere(what: string): never {
  throw new NotInWorkspace(
    `The workspace has no ${what}. Add it first, or use the id that adding it returned.`,
  );
}
