import { setTimeout as sleep } from "node:timers/promises";
import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";

/** How long a person waits for something to press. What is killed and started again on a busy machine takes its time. */
const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 250;

/** The first that `look` finds. Null if nobody waits any longer. */
export async function patiently<T>(look: () => T | null): Promise<T | null> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_EVERY_MS) {
    const found = look();
    if (found !== null) return found;
    await sleep(LOOK_EVERY_MS);
  }
  return null;
}

/** Someone new in a channel; in direct messages, whose they are. */
export function somebodyIn({ workspace }: SlackSide, channelId: string, newId: string): string {
  const channel = workspace.channel(channelId);
  if (channel.kind === "im") {
    return [...channel.members].find((id) => id !== workspace.bot.userId) ?? newId;
  }
  workspace.addUser({ id: newId, name: newId.toLowerCase() });
  workspace.invite(channelId, newId);
  return newId;
}

/** All messages, channel by channel. */
export function messagesIn(slack: SlackSide): SlackMessage[] {
  return slack.workspace.channels().flatMap(({ id }) => slack.messages(id));
}
