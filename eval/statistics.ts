/** The share of cases that lie outside an interval, on both sides together. */
const OUTSIDE = 0.05;
/** How many standard errors a difference has to be to be seen four times in five. */
const SEEN = 1.96 + 0.84;
const HALVINGS = 60;
const RESAMPLES = 10_000;
/** A fixed seed, so that the same two reports give the same result each time. */
const SEED = 0x9e3779b9;

/** An interval that has the true value in at least 95 of 100 cases. */
export type Interval = { low: number; high: number };
/** The difference between two shares of passed runs, from -1 to 1, with its interval. */
export type Difference = Interval & { mean: number };
/** Which runs of a task passed, on two sides. */
export type Pair = { before: readonly boolean[]; after: readonly boolean[] };

/** The exact interval of a share (Clopper and Pearson). */
export function exactInterval(passed: number, runs: number): Interval {
  const atMost = (count: number, share: number) =>
    sumOf(range(count + 1).map((each) => chanceOf(each, runs, share)));
  return {
    low: passed === 0 ? 0 : shareWhere((share) => 1 - atMost(passed - 1, share) > OUTSIDE / 2),
    high: passed === runs ? 1 : shareWhere((share) => atMost(passed, share) < OUTSIDE / 2),
  };
}

/**
 * The chance that at least so large a difference between two tasks' runs is chance alone (Fisher's
 * exact test, two-sided).
 */
export function chanceOfDifference({ before, after }: Pair): number {
  const [one, other] = [passedOf(before), passedOf(after)];
  const all = one + other;
  const chanceWith = (passed: number) => choose(before.length, passed) * choose(after.length, all - passed);
  const possible = range(all + 1).map(chanceWith);
  const seen = chanceWith(one) * (1 + 1e-9);
  return Math.min(1, sumOf(possible.filter((chance) => chance <= seen)) / sumOf(possible));
}

/**
 * Of several tests, those that show more than chance, if all of them together may be mistaken once
 * in twenty times (Holm).
 */
export function moreThanChance(chances: readonly number[]): boolean[] {
  const order = range(chances.length).toSorted((a, b) => (chances[a] ?? 1) - (chances[b] ?? 1));
  const firstKept = order.findIndex((at, rank) => (chances[at] ?? 1) > OUTSIDE / (chances.length - rank));
  const shown = new Set(firstKept === -1 ? order : order.slice(0, firstKept));
  return chances.map((_chance, at) => shown.has(at));
}

/** The chance that `k` runs of a task all pass, if `passed` of at least as many `runs` did. */
export function allPass(passed: number, runs: number, k: number): number {
  return choose(passed, k) / choose(runs, k);
}

/**
 * The mean difference over tasks, and the interval that has 95 % of resamples. A resample draws
 * tasks with replacement. What differs from run to run is in the tasks' differences already.
 */
export function differenceOf(pairs: readonly Pair[]): Difference {
  const differences = pairs.map(({ before, after }) => shareOf(after) - shareOf(before));
  const random = randomFrom(SEED);
  const means = range(RESAMPLES)
    .map(() => meanOf(differences.map(() => differences[(random() * differences.length) | 0] ?? 0)))
    .toSorted((one, other) => one - other);
  const at = (share: number) => means[Math.round(share * (RESAMPLES - 1))] ?? 0;
  return { mean: meanOf(differences), low: at(OUTSIDE / 2), high: at(1 - OUTSIDE / 2) };
}

/**
 * The smallest difference between two agents that a comparison shows four times in five, with so
 * many runs of each of these tasks. The tasks' results say how much of a result is chance.
 */
export function smallestShown(tasks: readonly (readonly boolean[])[], runs: number): number {
  if (tasks.length === 0) return 1;
  const all = shareOf(tasks.flat());
  // With one run, a task says nothing about chance. All tasks together say the most that it can be.
  const spreads = tasks.map((passes) => {
    const [share, count] = [shareOf(passes), passes.length];
    return count < 2 ? all * (1 - all) : (share * (1 - share) * count) / (count - 1);
  });
  return Math.min(1, SEEN * Math.sqrt((2 * meanOf(spreads)) / (runs * tasks.length)));
}

/** The share of passed runs. */
export function shareOf(passes: readonly boolean[]): number {
  return meanOf(passes.map(Number));
}

/** The mean, or 0 of nothing. */
export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : sumOf(values) / values.length;
}

function passedOf(passes: readonly boolean[]): number {
  return passes.filter(Boolean).length;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

function choose(all: number, some: number): number {
  if (some < 0 || some > all) return 0;
  return range(some).reduce((product, at) => (product * (all - at)) / (at + 1), 1);
}

function chanceOf(passed: number, runs: number, share: number): number {
  return choose(runs, passed) * share ** passed * (1 - share) ** (runs - passed);
}

/** The lowest share for which this holds, if it holds for all above. */
function shareWhere(holds: (share: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Makes random numbers from 0 to below 1, the same ones for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
