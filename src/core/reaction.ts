import { cameToNothing, endingOf } from "./outcome.ts";
import type { Request } from "./request.ts";
import type { Turn } from "./turn.ts";

/** Emoji under the message that asked, by Slack's names: at work, done, not done. */
const REACTIONS = ["eyes", "white_check_mark", "x"] as const;
type Reaction = (typeof REACTIONS)[number];

/** The message that asked, under which reactions show how it stands. Null: nobody wrote one, as with a command. */
export function askingMessage({
  teamId,
  channelId,
  messageTs,
  quoted,
}: Request): { teamId: string; channelId: string; ts: string } | null {
  if (messageTs !== undefined) return { teamId, channelId, ts: messageTs };
  return quoted === null ? null : { teamId, channelId: quoted.channelId, ts: quoted.ts };
}

/** How a turn stands, as a reaction; null: it was stopped or archived, which is neither. */
export function reactionOf({ stage }: Turn): Reaction | null {
  if (stage.name !== "ended") return "eyes";
  const { outcome } = stage;
  if (cameToNothing(outcome)) return "x";
  return ["pull-request", "branch", "no-changes"].includes(endingOf(outcome)) ? "white_check_mark" : null;
}

/** One step to what should be there. */
export type ReactionChange = { name: Reaction; isOn: boolean };

/** The changes that bring the message to what a turn's state shows; each is harmless where it is so already. */
export function reactionChanges(turn: Turn): ReactionChange[] {
  const shown = reactionOf(turn);
  // Another watch, or another turn of the same message, may have ended before.
  const isFirst = turn.watch === 1 && turn.request.from !== "try-again";
  const before = isFirst ? (["eyes"] as const) : REACTIONS;
  return [
    ...(shown === null ? [] : [{ name: shown, isOn: true }]),
    ...before.filter((name) => name !== shown).map((name) => ({ name, isOn: false })),
  ];
}
