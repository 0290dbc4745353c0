const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 5 * 60_000;
const JITTER = 0.1;

/** After this long a task comes again whose intent may not have been stored, milliseconds. */
export const AFTER_STORE_FAULT_MS = 1_000;

/** How long what is worth repeating is repeated: a day of outage costs no message. */
const GIVE_UP_AFTER_MS = 24 * 60 * 60_000;
/** How often it is tried at least, about an hour: the app itself may have been off for that day. */
const MIN_ATTEMPTS = 20;
/** How often a task that fails for a reason nobody foresaw is tried, and how many processes may die in it. */
export const MAX_SURPRISES = 8;

/** Whether a task that has met another temporary fault is given up. */
export function isGivenUp(task: { addedAt: number; attempt: number }, now: number): boolean {
  return task.attempt >= MIN_ATTEMPTS && now - task.addedAt > GIVE_UP_AFTER_MS;
}

/** How long to wait before the next attempt, milliseconds: doubling from 1 s to 5 min, ±10 %, at least what was asked for. */
export function retryDelayMs(input: { attempt: number; retryAfterMs: number; random: number }): number {
  const backoff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(input.attempt - 1, 30));
  const jittered = backoff * (1 - JITTER + 2 * JITTER * input.random);
  return Math.ceil(Math.max(jittered, input.retryAfterMs));
}
