/** Bounds of the polling, milliseconds. */
export type PollingPolicy = {
  /** `POLL_MIN_MS` */
  minMs: number;
  /** `POLL_MAX_MS` */
  maxMs: number;
  /** `JOB_DEADLINE_MS`: after that long, watching ends. */
  deadlineMs: number;
};

const AGE_FRACTION = 0.1;
const JITTER = 0.1;

/**
 * How long to wait before the next poll, in milliseconds: a tenth of the turn's age between floor and ceiling, ±10 %, backed
 * off on faults, never less than the service asked for and never less than the floor.
 */
export function nextPollDelayMs(input: {
  ageMs: number;
  /** Faults in a row, the last poll included. */
  faults: number;
  retryAfterMs: number;
  policy: PollingPolicy;
  /** Uniform in [0, 1). */
  random: number;
}): number {
  const { ageMs, faults, retryAfterMs, policy, random } = input;
  const byAge = clamp(policy.minMs, ageMs * AGE_FRACTION, policy.maxMs);
  const byFaults = faults === 0 ? 0 : Math.min(policy.maxMs, policy.minMs * 2 ** Math.min(faults, 20));
  const jittered = Math.max(byAge, byFaults) * (1 - JITTER + 2 * JITTER * random);
  return Math.ceil(Math.max(policy.minMs, jittered, retryAfterMs));
}

function clamp(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
