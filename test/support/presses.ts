import type { SlackMessage } from "../../world/slack/index.ts";
import { DOCS } from "./world.ts";
import type { World } from "./world.ts";

/** Returns the private messages to a person, the newest last. */
export function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

/**
 * Presses a button of a message in #docs, or chooses `option` in one of its menus. The result can
 * press it once more.
 */
export async function press(
  world: World,
  userId: string,
  message: SlackMessage,
  actionId: string,
  option?: string,
): Promise<() => Promise<unknown>> {
  const { status, delivery } = await world.slack.person(userId).click({
    channel: DOCS,
    messageTs: message.ts,
    actionId,
    ...(option === undefined ? {} : { option }),
  });
  if (status !== 200) throw new Error(`the app answered ${status}`);
  await world.settle();
  return () => world.slack.redeliver(delivery, { resign: true });
}

/** Waits for the private message that a person gets after a press. */
export async function toldPrivately(world: World, userId: string, count: number): Promise<string> {
  await world.slack.until(() => privately(world, userId).length === count);
  return privately(world, userId).at(-1) ?? "";
}
