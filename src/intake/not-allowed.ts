import type { BlockAction } from "@slack/bolt";
import type { IntakeDeps } from "./deps.ts";

/** Tells whoever pressed a button, alone, that only the requester may. */
export async function sayNotAllowed(
  { notifier, logger }: Pick<IntakeDeps, "notifier" | "logger">,
  { team, user, channel, response_url }: BlockAction,
  requesterId: string,
): Promise<void> {
  const place = { teamId: team?.id ?? user.team_id ?? "", channelId: channel?.id ?? "", threadTs: null };
  const told = await notifier.replyPrivately(
    { place, userId: user.id, responseUrl: response_url },
    { kind: "not-allowed", requesterId },
  );
  if (!told.ok) logger.warn({ error: told.fault.error }, "could not say who may press a button");
}
