import type { AppManifests } from "../app-manifests.ts";
import type { Limits } from "../limits.ts";
import { SlackRefusal } from "../refusal.ts";
import type { SocketModeSide } from "../socket-mode.ts";
import type { Triggers } from "../triggers.ts";
import type { Views } from "../views.ts";
import type { Channel, ChannelKind } from "../entities.ts";
import type { Workspace } from "../workspace.ts";
import type { Args } from "./args.ts";

/** The context in which methods run. */
export type MethodContext = {
  workspace: Workspace;
  views: Views;
  triggers: Triggers;
  socketMode: SocketModeSide;
  manifests: AppManifests;
  limits: Limits;
  /** The bot scopes that the app was installed with. */
  scopes: readonly string[];
  /** The events that the app subscribed to. */
  events: readonly string[];
  /** True if the app is declared as an agent. */
  isAgent: boolean;
};

/** A Web API method: the token it takes, its scopes (any one is enough), and what it does. */
export type Method = {
  token: "bot" | "app" | "config";
  scopes: readonly string[];
  /** Returns the answer without `ok`. Throws a {@link SlackRefusal}. */
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

/** Returns scopes each of which lets a method see at least some conversations. */
export function conversationScopes(verb: "read" | "history"): string[] {
  return Object.values(scopePrefixes).map((prefix) => `${prefix}:${verb}`);
}

/** Throws a refusal if the app lacks the scope for this kind of conversation. */
export function refuseWithoutKindScope(
  channel: Pick<Channel, "kind">,
  verb: "read" | "history",
  scopes: readonly string[],
): void {
  refuseWithoutScope([`${scopePrefixes[channel.kind]}:${verb}`], scopes);
}

/**
 * Returns the conversation with this id or `#name`. Throws a refusal if the app may not know of it.
 */
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

/** Returns the conversation to post to. A user's id means the direct messages with that person. */
export function channelToPostTo(idOrName: string, context: MethodContext): Channel {
  const { workspace, scopes } = context;
  if (workspace.findUser(idOrName) !== undefined) return workspace.openDirectMessage([idOrName]);
  const channel = visibleChannel(idOrName, context);
  if (channel.isArchived) throw new SlackRefusal("is_archived");
  const isMember = channel.members.has(workspace.bot.userId);
  if (!isMember && !scopes.includes("chat:write.public")) throw new SlackRefusal("not_in_channel");
  return channel;
}
