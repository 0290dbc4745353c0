import { roughDuration } from "../core/duration.ts";
import type { MessageOf } from "../core/notifier.ts";
import { overdueKey } from "../core/overdue.ts";
import { awayBlock } from "./away-text.ts";
import { section } from "./blocks.ts";
import type { Rendered } from "./blocks.ts";
import type { TeamView } from "./presentation.ts";
import { stopButton } from "./status-actions.ts";

/** The notice that a turn takes longer than usual: mentions the requester, and offers to stop it as long as that helps. */
export function overdueMessage(
  { turn, overdue, away, muted = [] }: MessageOf<"overdue">,
  team: TeamView,
): Rendered {
  const { userId } = turn.request;
  const who = muted.includes(userId) ? "" : `<@${userId}> `;
  const usual = roughDuration(overdue.usualMs);
  const key = overdueKey(turn);
  const text =
    key === "over"
      ? `⌛ Took longer than usual (usually ${usual}).`
      : `⌛ ${who}Taking longer than usual: ${roughDuration(overdue.afterMs)} so far, usually ${usual}.`;
  return {
    text,
    blocks: [
      ...(away === null ? [] : [awayBlock(turn.request, away, team)]),
      section(text),
      ...(key === "open" ? [{ type: "actions" as const, elements: [stopButton(turn)] }] : []),
    ],
  };
}
