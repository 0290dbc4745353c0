import type { MessageBlock } from "./block-kit/blocks.ts";
import type { SlackFile } from "./files.ts";
import type { MessageAttachment, Metadata } from "./messages.ts";

export type Team = {
  id: string;
  name: string;
  domain: string;
  url: string;
  /** The organization that it belongs to, if any. */
  enterpriseId?: string;
};

export type Bot = { userId: string; botId: string; appId: string; name: string };

export type User = {
  id: string;
  name: string;
  real_name: string;
  display_name: string;
  /** Invited to some channels only; absent: a member, or of another workspace. */
  guest?: Guest;
  /** Set for a person of another workspace, in channels that are shared with it. */
  home?: Home;
  /** Their account was deactivated. */
  isDeactivated?: boolean;
};

/** https://slack.com/help/articles/202518103-Understand-guest-roles-in-Slack */
type Guest = "multi-channel" | "single-channel";

/**
 * Where somebody of another workspace is from; `enterpriseId`: the organization it belongs to, if
 * any.
 */
export type Home = { teamId: string; enterpriseId?: string };

export type ChannelKind = "public" | "private" | "im" | "mpim";

export type Channel = {
  id: string;
  name: string;
  kind: ChannelKind;
  /** User ids; the bot is a member when its user id is here. */
  members: Set<string>;
  isArchived: boolean;
  /**
   * The workspace of another organization that shares it with this one; absent: it is this one's.
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

/** A group of people with a handle: https://docs.slack.dev/reference/objects/usergroup-object */
export type UserGroup = { id: string; handle: string; name: string };

/** A channel to be: `members` are user ids, and `withBot` adds the bot to them. */
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

/** How the bot token stands; anything but `active` is the error every call with it gets. */
export type TokenState = "active" | "token_revoked" | "account_inactive" | "invalid_auth";
