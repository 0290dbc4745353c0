import type { JobServiceAnswer } from "./job-service.ts";
import { UNSEEN_MS, isFollowUp, leftAs, turnAfterAnswer } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** A turn before and after a poll. */
export type Polled = { turn: Turn; next: Turn };

/**
 * Whether a poll's answer is of another turn of the job than this follow-up: one of the `earlier` was still at work, and the service doesn't tell
 * turns apart.
 */
export function isBehind(turn: Turn, earlier: readonly Polled[]): boolean {
  return isFollowUp(turn) && turn.number === undefined && earlier.some(isShown);
}

/** Whether the answer showed that turn at work, or its end. */
function isShown({ turn: { stage }, next }: Polled): boolean {
  if (stage.name !== "watching") return false;
  const { unseen } = stage;
  if (unseen === undefined) return true;
  if (next.stage.name === "watching") return next.stage.unseen === undefined;
  // One that ends because a minute is over has shown nothing.
  const { job } = next;
  return job !== null && unseen.leftAs !== null && leftAs(job) !== unseen.leftAs;
}

/** A watched follow-up after an answer that is of a turn before it: how that one ended isn't how this one ends. */
export function waitBehind(turn: Turn, answer: JobServiceAnswer & { ok: true }, now: number): Turn {
  const { stage } = turn;
  const { job } = answer;
  if (stage.name !== "watching" || job.status === "archived") return turnAfterAnswer(turn, answer, now);
  const left = leftAs(job);
  if (left === null && stage.troubleSince === null) return turn;
  const unseen = left === null ? {} : { unseen: { until: now + UNSEEN_MS, leftAs: left } };
  return { ...turn, stage: { ...stage, troubleSince: null, ...unseen } };
}
