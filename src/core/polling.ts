/** Bounds of the polling, milliseconds. */
export type PollingPolicy = {
  /** `POLL_MIN_MS` */
  minMs: number;
  /** `POLL_MAX_MS` */
  maxMs: number;
  /** `JOB_DEADLINE_MS`: after that long, watching ends. */
  deadlineMs: number;
};

/**
 * The delay when a job has been watched for one second, in seconds. Chosen by measurement, with the bench's simulated jobs: 1.20
 * takes more polls than before (30.4 per job), 1.30 sees an outcome after more than 12 s.
 */
const DELAY_AT_ONE_SECOND = 1.25;
const JITTER = 0.1;

/**
 * How long to wait before the next poll, in milliseconds. The delay grows with the square root of the watch's age, 1.25·√age
 * in seconds, between floor and ceiling, ±10 %. Faults double it, and it is never less than the service asked for or than
 * the floor.
 *
 * The root keeps the delay close to the time a job is likely to need still, without becoming long too early: on the bench's
 * 20,000 jobs (median 4 minutes, 0.5 % over 2 hours) it takes 29.3 polls per job, and an outcome is seen 11.6 s after the end
 * on average (95 %: 34 s). A tenth of the age takes 29.8 polls and sees it after 15.0 s (49 s).
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
  // A clock that was set back makes the age negative.
  const ageS = Math.max(0, ageMs) / 1000;
  const byAge = clamp(policy.minMs, DELAY_AT_ONE_SECOND * Math.sqrt(ageS) * 1000, policy.maxMs);
  const byFaults = faults === 0 ? 0 : Math.min(policy.maxMs, policy.minMs * 2 ** Math.min(faults, 20));
  const jittered = Math.max(byAge, byFaults) * (1 - JITTER + 2 * JITTER * random);
  return Math.ceil(Math.max(policy.minMs, jittered, retryAfterMs));
}

function clamp(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
