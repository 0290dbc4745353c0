import { isDirect } from "./thread/request-list.ts";
import type { Refusal } from "./ports/notifier.ts";
import type { Request } from "./turn/request.ts";

/**
 * Where and by whom the operator lets the app be used. `channels` are ids of channels, and `groups`
 * of user groups. An empty list lets every channel, or every member. In the channels of `askOnly`
 * the app answers and changes nothing.
 */
export type AccessSettings = {
  channels: readonly string[];
  groups: readonly string[];
  askOnly: readonly string[] | "all";
};

/**
 * What Slack says of a person, as far as a rule asks for it. Null means that Slack can't say.
 * `isInChannel`: they are in one of the allowed channels. `isInGroup`: in one of the allowed
 * groups.
 */
export type AccessFacts = { isInChannel: boolean | null; isInGroup: boolean | null };

/** What has to be known to let somebody in at a place. Null stands for one without a channel. */
export function factsToAskFor(
  { channels, groups }: Pick<AccessSettings, "channels" | "groups">,
  channelId: string | null,
): Record<keyof AccessFacts, boolean> {
  return {
    isInChannel: channels.length > 0 && channelId !== null && isDirect(channelId),
    isInGroup: groups.length > 0,
  };
}

/**
 * Says why a person may not use the app at a place, or null if they may. A form has no channel: it
 * was opened from a message or a command that has one. Direct messages count as the allowed
 * channels that the person is in. What can't be known lets nobody in.
 */
export function accessRefusal(
  settings: AccessSettings,
  channelId: string | null,
  facts: AccessFacts,
): Refusal | null {
  const { channels } = settings;
  const asked = factsToAskFor(settings, channelId);
  const isElsewhere = channels.length > 0 && channelId !== null && !channels.includes(channelId);
  if (isElsewhere && (!asked.isInChannel || facts.isInChannel === false)) {
    return { kind: "other-channel", isDirect: asked.isInChannel, channels: [...channels] };
  }
  if (asked.isInGroup && facts.isInGroup === false) return { kind: "not-in-group" };
  const isUnknown =
    (asked.isInChannel && facts.isInChannel === null) || (asked.isInGroup && facts.isInGroup === null);
  return isUnknown ? { kind: "access-unchecked" } : null;
}

/** True if the app only answers in a channel. */
export function isAskOnly({ askOnly }: Pick<AccessSettings, "askOnly">, channelId: string): boolean {
  return askOnly === "all" || askOnly.includes(channelId);
}

/** Says why nothing that changes something may be done in a channel, or null if it may. */
export function changeRefusal(settings: Pick<AccessSettings, "askOnly">, channelId: string): Refusal | null {
  return isAskOnly(settings, channelId) ? { kind: "ask-only" } : null;
}

/**
 * A request as its channel allows it: where the app only answers, it changes nothing, whatever its
 * words say.
 */
export function asItsChannelAllows(settings: Pick<AccessSettings, "askOnly">, asked: Request): Request {
  const { changesNothing: _, ...request } = asked;
  return isAskOnly(settings, request.channelId) ? { ...request, changesNothing: true } : request;
}
