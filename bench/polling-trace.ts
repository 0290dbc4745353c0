/**
 * The number of polls of a policy, and its delays until it sees a job's end. `p95LagMs` isn't
 * exceeded by 95 % of the jobs.
 */
export type PollingCost = { pollsPerJob: number; meanLagMs: number; p95LagMs: number };

/** Returns the delay before the next poll, in milliseconds. `random` is uniform in [0, 1). */
export type Delay = (ageMs: number, random: number) => number;

const JOBS = 20_000;
const MEDIAN_MS = 4 * 60_000;
/**
 * The standard deviation of the logarithm. With this value, 0.5 % of the jobs take longer than two
 * hours.
 */
const SPREAD = 1.33;

/** This project's first policy: a tenth of the age, between 5 and 60 s, ±10 %. */
export function tenthOfAge(ageMs: number, random: number): number {
  const delayMs = Math.max(5000, Math.min(ageMs / 10, 60_000));
  return Math.ceil(Math.max(5000, delayMs * (0.9 + 0.2 * random)));
}

/**
 * Watches 20,000 simulated jobs to their end. Their lengths are log-normal with a median of 4
 * minutes. The same seed gives the same lengths.
 */
export function pollingCost(delay: Delay, seed: number): PollingCost {
  const lengthOf = generator(seed);
  const jitterOf = generator(seed + 1_000_003);
  const lagsMs: number[] = [];
  let polls = 0;
  for (let job = 0; job < JOBS; job += 1) {
    const lengthMs = MEDIAN_MS * Math.exp(SPREAD * normal(lengthOf));
    let ageMs = 0;
    while (ageMs < lengthMs) {
      ageMs += delay(ageMs, jitterOf());
      polls += 1;
    }
    lagsMs.push(ageMs - lengthMs);
  }
  lagsMs.sort((a, b) => a - b);
  return {
    pollsPerJob: polls / JOBS,
    meanLagMs: lagsMs.reduce((sum, lagMs) => sum + lagMs, 0) / JOBS,
    p95LagMs: lagsMs[Math.floor(JOBS * 0.95)] ?? NaN,
  };
}

/** Makes a standard normal value from two uniform ones (Box–Muller transform). */
function normal(uniform: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Makes uniform values in [0, 1) from a seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
