import type { Clock } from "./ports.ts";

/** What a clock needs of its machine. */
export type Machine = Pick<Clock, "wallMs" | "monotonicMs"> & {
  /** Calls `wake` once, in `ms` milliseconds or later. The returned function cancels it. */
  wakeIn(ms: number, wake: () => void): () => void;
};

/** How much faster or slower the clock runs while it follows the machine's: a part of the time. */
const FOLLOWS_BY = 1 / 1000;

/**
 * A clock that shows the machine's time at first, and then goes by what has passed. If somebody
 * sets the machine's clock, this one goes on as it did: nothing that was noted before becomes older
 * or younger at once, and nobody waits longer. It only follows slowly: a wait of an hour changes by
 * less than four seconds.
 */
export function createSteadyClock(machine: Machine): Clock {
  let atMs = machine.monotonicMs();
  let shownMs = machine.wallMs();

  function now(): number {
    const nowMs = machine.monotonicMs();
    const passedMs = nowMs - atMs;
    const behindMs = machine.wallMs() - (shownMs + passedMs);
    const mostMs = passedMs * FOLLOWS_BY;
    atMs = nowMs;
    shownMs += passedMs + Math.min(Math.max(behindMs, -mostMs), mostMs);
    return Math.floor(shownMs);
  }

  return {
    now,
    wallMs: () => machine.wallMs(),
    monotonicMs: () => machine.monotonicMs(),
    wakeAt: (atMs, wake) => machine.wakeIn(Math.max(0, atMs - now()), wake),
  };
}
