import type { DeliveryOutcome, SlackSide } from "../../world/slack/index.ts";

/**
 * Sends a command again with the same trigger id until the app has taken it. On a busy machine,
 * storing a request may take so long that the app answers with a notice. Gives up when `isOver`.
 * Returns the last answer.
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

/** True if the only news to the person is that the command was taken. */
export function isTaken({ status, body }: Pick<DeliveryOutcome, "status" | "body">): boolean {
  return status === 200 && body === "";
}
