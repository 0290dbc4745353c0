import type { DeliveryOutcome, SlackSide } from "../../emulators/slack/index.ts";

/**
 * Sends a command again until the app has taken it, with the same trigger id: on a busy machine it may need so long to store a request that
 * the person is told so. `url`: where to, if not where it went first.
 */
export async function untilTaken(
  slack: SlackSide,
  sent: Pick<DeliveryOutcome, "delivery" | "status" | "body">,
  url = sent.delivery.url,
): Promise<void> {
  let last = sent;
  while (!isTaken(last)) last = await slack.redeliver({ ...last.delivery, url });
}

/** Whether whoever sent a command was told nothing else than that it was taken. */
export function isTaken({ status, body }: Pick<DeliveryOutcome, "status" | "body">): boolean {
  return status === 200 && body === "";
}
