import type { Limits } from "../limits.ts";
import { SlackRefusal } from "../refusal.ts";
import type { SocketModeSide } from "../socket-mode.ts";
import type { Triggers } from "../triggers.ts";
import type { Views } from "../views.ts";
import type { Channel, ChannelKind } from "../entities.ts";
import type { Workspace } from "../workspace.ts";
import type { Args } from "./args.ts";

/** What methods work on. */
export type MethodContext = {
  workspace: Workspace;
  views: Views;
  triggers: Triggers;
  socketMode: SocketModeSide;
  limits: Limits;
  /** The bot scopes the app was installed with. */
  scopes: readonly string[];
};

/** A Web API method: which token it takes, the scopes of which one is enough, and what it does. */
export type Method = {
  token: "bot" | "app";
  scopes: readonly string[];
  /** Returns the answer without `ok`; throws a {@link SlackRefusal}. */
  run: (args: Args, context: MethodContext) => Record<string, unknown>;
};

export type MethodTable = Record<string, Method>;

export function refuseWithoutScope(needed: readonly string[], scopes: readonly string[]): void {
  if (needed.length === 0 || needed.some((scope) => scopes.includes(scope))) return;
  throw new SlackRefusal("missing_scope", { needed: needed.join(","), provided: scopes.join(",") });
}

const scopePrefixes: Record<ChannelKind, string> = {
  public: "channels",
  private: "groups",
  im: "im",
  mpim: "mpim",
};

/** The scopes of which one lets a method see at least some conversations. */
export function conversationScopes(verb: "read" | "history"): string[] {
  return Object.values(scopePrefixes).map((prefix) => `${prefix}:${verb}`);
}

/** Refuses a conversation of a kind whose own scope the app lacks. */
export function refuseWithoutKindScope(
  channel: Pick<Channel, "kind">,
  verb: "read" | "history",
  scopes: readonly string[],
): void {
  refuseWithoutScope([`${scopePrefixes[channel.kind]}:${verb}`], scopes);
}

/** The conversation with this id or `#name`, where the app may know of it at all. */
export function visibleChannel(idOrName: string, { workspace }: MethodContext): Channel {
  const name = idOrName.replace(/^#/, "");
  const channel =
    workspace.findChannel(idOrName) ??
    workspace.channels().find((other) => other.kind === "public" && other.name === name);
  if (channel === undefined) throw new SlackRefusal("channel_not_found");
  const isHidden = channel.kind !== "public" && !channel.members.has(workspace.bot.userId);
  if (isHidden) throw new SlackRefusal("channel_not_found");
  return channel;
}

/** The conversation to post to: a user's id stands for the direct message with them. */
export function channelToPostTo(idOrName: string, context: MethodContext): Channel {
  const { workspace, scopes } = context;
  if (workspace.findUser(idOrName) !== undefined) return workspace.openDirectMessage([idOrName]);
  const channel = visibleChannel(idOrName, context);
  if (channel.isArchived) throw new SlackRefusal("is_archived");
  const isMember = channel.members.has(workspace.bot.userId);
  if (!isMember && !scopes.includes("chat:write.public")) throw new SlackRefusal("not_in_channel");
  return channel;
}
