import type { DeliveryOutcome, SlackSide } from "../../world/slack/index.ts";

/**
 * Sends a command again until the app has taken it, with the same trigger id: on a busy machine it may need so long to store a request that
 * the person is told so. Gives up when `isOver`. Returns the last answer.
 */
export async function untilTaken(
  slack: SlackSide,
  sent: DeliveryOutcome,
  isOver: () => boolean = () => false,
): Promise<DeliveryOutcome> {
  let last = sent;
  while (!isTaken(last) && !isOver()) last = await slack.redeliver(last.delivery);
  return last;
}

/** Whether whoever sent a command was told nothing else than that it was taken. */
export function isTaken({ status, body }: Pick<DeliveryOutcome, "status" | "body">): boolean {
  return status === 200 && body === "";
}
