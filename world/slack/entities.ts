import type { MessageBlock } from "./block-kit/blocks.ts";
import type { SlackFile } from "./files.ts";
import type { MessageAttachment, Metadata } from "./messages.ts";

export type Team = {
  id: string;
  name: string;
  domain: string;
  url: string;
  /** The organization that the team belongs to, if any. */
  enterpriseId?: string;
};

export type Bot = { userId: string; botId: string; appId: string; name: string };

export type User = {
  id: string;
  name: string;
  real_name: string;
  display_name: string;
  /** Set for a guest, who is in some channels only. */
  guest?: Guest;
  /** Set for a person of another workspace, in channels that are shared with this one. */
  home?: Home;
  /** True if the account was deactivated. */
  isDeactivated?: boolean;
};

/** https://slack.com/help/articles/202518103-Understand-guest-roles-in-Slack */
type Guest = "multi-channel" | "single-channel";

/** The workspace that a person of another workspace comes from, and its organization, if any. */
export type Home = { teamId: string; enterpriseId?: string };

export type ChannelKind = "public" | "private" | "im" | "mpim";

export type Channel = {
  id: string;
  name: string;
  kind: ChannelKind;
  /** User ids. The bot is a member if its user id is among them. */
  members: Set<string>;
  isArchived: boolean;
  /**
   * The workspace of another organization that shares the channel with this one. If it is absent,
   * the channel belongs to this workspace.
   */
  hostTeamId?: string;
};

export type NewUser = {
  name: string;
  id?: string;
  realName?: string;
  displayName?: string;
  guest?: Guest;
  home?: Home;
  isDeactivated?: boolean;
};

/**
 * A group of people with a handle. See https://docs.slack.dev/reference/objects/usergroup-object
 */
export type UserGroup = { id: string; handle: string; name: string; users?: readonly string[] };

/** A channel to add. `members` are user ids, and `withBot` adds the bot to them. */
export type NewChannel = {
  name: string;
  members: string[];
  withBot?: boolean;
  id?: string;
  isPrivate?: boolean;
  hostTeamId?: string;
};

export type NewMessage = {
  channel: string;
  user: string;
  text: string;
  files?: SlackFile[];
  attachments?: MessageAttachment[];
  isFromApp?: boolean;
  blocks?: MessageBlock[];
  threadTs?: string;
  isBroadcast?: boolean;
  metadata?: Metadata;
  linksNames?: boolean;
};

/** The bot token's state. Unless it is `active`, every call fails with this error. */
export type TokenState = "active" | "token_revoked" | "account_inactive" | "invalid_auth";
