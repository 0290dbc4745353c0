import { setTimeout as sleep } from "node:timers/promises";
import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";

/**
 * The time that a person waits for something to press. Killing and restarting takes long on a busy
 * machine.
 */
const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 250;

/** Resolves to the first thing that `look` finds, or to null if nobody waits any longer. */
export async function patiently<T>(look: () => T | null): Promise<T | null> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_EVERY_MS) {
    const found = look();
    if (found !== null) return found;
    await sleep(LOOK_EVERY_MS);
  }
  return null;
}

/** Adds a new person to a channel. In direct messages, it returns their owner. */
export function somebodyIn({ workspace }: SlackSide, channelId: string, newId: string): string {
  const channel = workspace.channel(channelId);
  if (channel.kind === "im") {
    return [...channel.members].find((id) => id !== workspace.bot.userId) ?? newId;
  }
  workspace.addUser({ id: newId, name: newId.toLowerCase() });
  workspace.invite(channelId, newId);
  return newId;
}

/** Returns all messages, channel by channel. */
export function messagesIn(slack: SlackSide): SlackMessage[] {
  return slack.workspace.channels().flatMap(({ id }) => slack.messages(id));
}
