import { OVERDUE_SLOT } from "./delivery.ts";
import { pausedMs, isAsking, type Turn, type Watching } from "./turn.ts";
import { projectKey, type ProjectRef } from "../project.ts";
import type { Append } from "../../../shared/store/series.ts";

/**
 * The series of how long a project's newest turns with a result took, in milliseconds each. It
 * holds only these numbers.
 */
export function historyOf(project: ProjectRef): string {
  return `history:${projectKey(project)}`;
}

/** The most turns that a history holds. */
const HISTORY_MAX = 50;
/** The fewest turns that show what is usual. */
const HISTORY_MIN = 5;

/** The earliest that any turn can be overdue, milliseconds. */
const OVERDUE_MIN_MS = 5 * 60_000;

/**
 * Half of a project's turns take at most `usualMs`. A turn that takes longer than `limitMs` is
 * overdue.
 */
export type Usual = { usualMs: number; limitMs: number };

/** Computes what is usual from a project's history, or null if the history is too short. */
export function usualOf(history: readonly string[]): Usual | null {
  const all = history.map(Number).toSorted((a, b) => a - b);
  if (all.length < HISTORY_MIN) return null;
  const usualMs = ((all[(all.length - 1) >> 1] ?? 0) + (all[all.length >> 1] ?? 0)) / 2;
  const slowMs = all[Math.ceil(0.9 * all.length) - 1] ?? 0;
  return { usualMs, limitMs: Math.max(2 * slowMs, 3 * usualMs, OVERDUE_MIN_MS) };
}

/** Adds the durations of turns that have just ended to their project's history. */
export function historyAppends(
  project: ProjectRef,
  ended: readonly { turn: Turn; next: Turn }[],
  ttlMs: number,
): Append[] {
  const took = ended.flatMap(({ turn, next }) => tookMs(turn, next) ?? []);
  return took.map((ms) => ({ series: historyOf(project), entry: String(ms), keep: HISTORY_MAX, ttlMs }));
}

/** Undefined if the duration is unknown or the turn was cut short. */
function tookMs({ stage, watch }: Turn, next: Turn): number | undefined {
  if (stage.name !== "watching" || next.stage.name !== "ended") return undefined;
  const { kind, stoppedBy } = next.stage.outcome;
  const hasResult = kind === "pull-request" || kind === "no-changes";
  // While polls fail or the agent waits, we can't know what the turn was doing.
  const isKnown = watch === 1 && isSeenAtWork(stage);
  return hasResult && isKnown && stoppedBy === undefined ? workedMs(stage, next.stage.at) : undefined;
}

/** True if the turn could be overdue in some project. */
export function mayBeOverdue(turn: Turn, now: number): boolean {
  const { stage, watch, overdue, stop } = turn;
  if (stage.name !== "watching" || watch !== 1 || overdue !== undefined || stop !== undefined) return false;
  return isSeenAtWork(stage) && !isAsking(turn) && workedMs(stage, now) >= OVERDUE_MIN_MS;
}

/**
 * The earliest time at which the turn may be overdue, epoch milliseconds. Infinity if it never can
 * be again.
 */
export function overdueAt({ stage, watch, overdue, stop }: Turn, usual: Usual | null, now: number): number {
  if (usual === null || stage.name !== "watching") return Infinity;
  if (watch !== 1 || overdue !== undefined || stop !== undefined) return Infinity;
  return now + Math.max(0, usual.limitMs - workedMs(stage, now)) + 1;
}

/** Marks the turn as overdue if it is. Returns the same object otherwise. */
export function withOverdue(turn: Turn, usual: Usual | null, now: number): Turn {
  const { stage } = turn;
  if (usual === null || stage.name !== "watching" || !mayBeOverdue(turn, now)) return turn;
  const afterMs = workedMs(stage, now);
  return afterMs > usual.limitMs ? { ...turn, overdue: { afterMs, usualMs: usual.usualMs } } : turn;
}

/**
 * Names what the notice of an overdue turn shows: `open` can be stopped, `stopping` has been, and
 * `over` has ended or has been watched anew since.
 */
export function overdueKey({ stage, watch, stop }: Turn): "open" | "stopping" | "over" {
  if (stage.name === "ended" || watch !== 1) return "over";
  return stop === undefined ? "open" : "stopping";
}

/**
 * True if the notice has to be posted or updated. It is posted only while the turn is running and
 * its agent isn't waiting.
 */
export function isNoticeDue(turn: Turn): boolean {
  const { overdue, delivery } = turn;
  if (overdue === undefined) return false;
  const key = overdueKey(turn);
  const isSent = delivery.slots[OVERDUE_SLOT] !== undefined;
  return isSent ? overdue.shown !== key : key === "open" && !isAsking(turn);
}

function isSeenAtWork({ troubleSince, pause }: Watching): boolean {
  return troubleSince === null && (pause?.since ?? null) === null;
}

function workedMs({ since, pause }: Watching, now: number): number {
  return Math.max(0, now - since - pausedMs(pause, now));
}
