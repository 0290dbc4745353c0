import { endTurn, isFollowUp, turnAfterAnswer } from "./turn.ts";
import type { Turn } from "./turn.ts";
import type { JobServiceAnswer } from "./job-service.ts";

/** The turn after somebody has pressed **Stop**. The same object where it has ended, or somebody was first. */
export function stopTurn(turn: Turn, stop: { userId: string; at: number }): Turn {
  if (turn.stage.name === "ended" || turn.stop !== undefined) return turn;
  return withoutSending({ ...turn, stop }, stop.at);
}

/** A turn that is to stop ends at once while nothing of it can be at the job service. */
export function withoutSending(turn: Turn, now: number): Turn {
  if (turn.stop === undefined || turn.stage.name !== "accepted") return turn;
  return endTurn(turn, "failed", now, { stoppedBy: turn.stop.userId });
}

/** The number by which a turn is canceled; null: the service has not told it. */
export function cancelNumber(turn: Turn): number | null {
  return isFollowUp(turn) ? (turn.number ?? null) : 1;
}

/** After the service has taken the cancel: ended, or its end comes with a poll. */
export function turnAfterCancel(turn: Turn, answer: JobServiceAnswer & { ok: true }, now: number): Turn {
  if (turn.stage.name !== "watching" || turn.stop === undefined) return turn;
  return turnAfterAnswer({ ...turn, stop: { ...turn.stop, isTaken: true } }, answer, now);
}

/** The turn, no longer watched: it is to stop, and its service can't stop it. */
export function unwatchTurn(turn: Turn, now: number): Turn {
  if (turn.stage.name !== "watching" || turn.stop === undefined) return turn;
  return endTurn(turn, "expired", now, { reason: "deadline", stoppedBy: turn.stop.userId });
}
