import { OVERDUE_SLOT } from "./delivery.ts";
import { pausedMs, isAsking, type Turn, type TurnStage } from "./turn.ts";
import { projectKey, type ProjectRef } from "../job/project.ts";
import type { Append } from "../ports/task-queue.ts";

/**
 * The series that says how long a project's newest turns with a result took, milliseconds. It holds
 * nothing else of them.
 */
export function historyOf(project: ProjectRef): string {
  return `history:${projectKey(project)}`;
}

/** How many turns a history holds. */
const HISTORY_MAX = 50;
/** How many turns make a habit. */
const HISTORY_MIN = 5;

/** No turn is overdue before, milliseconds. */
const OVERDUE_MIN_MS = 5 * 60_000;

/**
 * What is usual in a project: half of its turns take at most `usualMs`, and one that takes longer
 * than `limitMs` is overdue.
 */
type Usual = { usualMs: number; limitMs: number };

/** What a project's history says is usual; null: it says too little. */
export function usualOf(history: readonly string[]): Usual | null {
  const all = history.map(Number).toSorted((a, b) => a - b);
  if (all.length < HISTORY_MIN) return null;
  const usualMs = ((all[(all.length - 1) >> 1] ?? 0) + (all[all.length >> 1] ?? 0)) / 2;
  const slowMs = all[Math.ceil(0.9 * all.length) - 1] ?? 0;
  return { usualMs, limitMs: Math.max(2 * slowMs, 3 * usualMs, OVERDUE_MIN_MS) };
}

/** Adds to a project's history turns that have just ended, as they were before and as they are. */
export function historyAppends(
  project: ProjectRef,
  ended: readonly { turn: Turn; next: Turn }[],
  ttlMs: number,
): Append[] {
  const took = ended.flatMap(({ turn, next }) => tookMs(turn, next) ?? []);
  return took.map((ms) => ({ series: historyOf(project), entry: String(ms), keep: HISTORY_MAX, ttlMs }));
}

/** Undefined: that isn't known, or it was cut short. */
function tookMs({ stage, watch }: Turn, next: Turn): number | undefined {
  if (stage.name !== "watching" || next.stage.name !== "ended") return undefined;
  const { kind, stoppedBy } = next.stage.outcome;
  const hasResult = kind === "pull-request" || kind === "no-changes";
  // Since polls failed, or since it was seen to wait, it may have done anything at any time.
  const isKnown = watch === 1 && isSeenAtWork(stage);
  return hasResult && isKnown && stoppedBy === undefined ? workedMs(stage, next.stage.at) : undefined;
}

/** Whether a turn could be overdue in some project. */
export function mayBeOverdue(turn: Turn, now: number): boolean {
  const { stage, watch, overdue, stop } = turn;
  if (stage.name !== "watching" || watch !== 1 || overdue !== undefined || stop !== undefined) return false;
  return isSeenAtWork(stage) && !isAsking(turn) && workedMs(stage, now) >= OVERDUE_MIN_MS;
}

/** The turn, overdue by what is usual; the same object where it isn't. */
export function withOverdue(turn: Turn, usual: Usual | null, now: number): Turn {
  const { stage } = turn;
  if (usual === null || stage.name !== "watching" || !mayBeOverdue(turn, now)) return turn;
  const afterMs = workedMs(stage, now);
  return afterMs > usual.limitMs ? { ...turn, overdue: { afterMs, usualMs: usual.usualMs } } : turn;
}

/**
 * Names what the notice of an overdue turn shows. `open`: it can be stopped. `stopping`: somebody
 * has. `over`: it has ended, or was watched anew since.
 */
export function overdueKey({ stage, watch, stop }: Turn): "open" | "stopping" | "over" {
  if (stage.name === "ended" || watch !== 1) return "over";
  return stop === undefined ? "open" : "stopping";
}

/**
 * Whether the notice is missing, or shows an earlier state. It isn't posted any more once the turn
 * is over, nor while its agent waits.
 */
export function isNoticeDue(turn: Turn): boolean {
  const { overdue, delivery } = turn;
  if (overdue === undefined) return false;
  const key = overdueKey(turn);
  const isSent = delivery.slots[OVERDUE_SLOT] !== undefined;
  return isSent ? overdue.shown !== key : key === "open" && !isAsking(turn);
}

type Watching = Extract<TurnStage, { name: "watching" }>;

function isSeenAtWork({ troubleSince, pause }: Watching): boolean {
  return troubleSince === null && (pause?.since ?? null) === null;
}

function workedMs({ since, pause }: Watching, now: number): number {
  return Math.max(0, now - since - pausedMs(pause, now));
}
