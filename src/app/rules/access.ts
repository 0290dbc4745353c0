import { isDirect } from "./thread/request-list.ts";
import type { Refusal } from "./ports/notifier.ts";

/**
 * Where and by whom the operator lets the app be used. `channels` are ids of channels, and `groups`
 * of user groups. An empty list lets every channel, or every member.
 */
export type AccessSettings = { channels: readonly string[]; groups: readonly string[] };

/**
 * What Slack says of a person, as far as a rule asks for it. Null means that Slack can't say.
 * `isInChannel`: they are in one of the allowed channels. `isInGroup`: in one of the allowed
 * groups.
 */
export type AccessFacts = { isInChannel: boolean | null; isInGroup: boolean | null };

/** What has to be known to let somebody in at a place. Null stands for one without a channel. */
export function factsToAskFor(
  { channels, groups }: AccessSettings,
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
