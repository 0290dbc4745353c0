import { isPassed, type Report, type TaskRun } from "./report-schema.ts";

/** With fewer runs of a task, a difference may just as well be chance. */
const MIN_RUNS = 5;
const RESAMPLES = 10_000;
/** The share of resamples that lie below the interval. As many lie above it. */
const TAIL = 0.025;
/** A fixed seed, so that the same two reports give the same result each time. */
const SEED = 0x9e3779b9;

/** The difference between two shares of passed runs, from -1 to 1, with its interval. */
export type Difference = { mean: number; low: number; high: number };

type Pair = { name: string; before: readonly boolean[]; after: readonly boolean[] };

/** A text in Markdown: which tasks changed from one report to another, and how sure that is. */
export function comparisonText(a: Report, b: Report): string {
  const { pairs, leftOut } = pairsOf(a, b);
  const fewest = Math.min(...pairs.flatMap(({ before, after }) => [before.length, after.length]));
  const isEnough = pairs.length > 0 && fewest >= MIN_RUNS;
  const changed = pairs.filter(({ before, after }) => shareOf(before) !== shareOf(after));
  const all = differenceOf(pairs);
  return [
    `# ${titleOf(a)} → ${titleOf(b)}`,
    "",
    ...(pairs.length === 0
      ? ["The two reports have no task in common."]
      : [
          `${pairs.length === 1 ? "One task" : `${pairs.length} tasks`} in both. Passed runs: ` +
            `${percent(meanShare(pairs, "before"))} → ${percent(meanShare(pairs, "after"))}.`,
          "",
          `Difference, task by task: ${points(all.mean)} (95 % interval ${points(all.low)} to ` +
            `${points(all.high)}). ${verdictOf(all, isEnough)}`,
        ]),
    ...(leftOut.length === 0
      ? []
      : ["", `Left out, because they aren't the same in both: ${leftOut.join(", ")}.`]),
    ...(changed.length === 0
      ? []
      : [
          "",
          "| task | before | after | difference |",
          "|---|---|---|---|",
          ...changed.map((pair) => {
            const few = Math.min(pair.before.length, pair.after.length) < MIN_RUNS;
            const difference = differenceOf([pair]);
            const words = few
              ? "too few to tell"
              : `${points(difference.mean)} (${points(difference.low)} to ${points(difference.high)})`;
            return `| ${pair.name} | ${countOf(pair.before)} | ${countOf(pair.after)} | ${words} |`;
          }),
        ]),
    "",
  ].join("\n");
}

/**
 * The mean difference over the tasks, and the interval that has 95 % of resamples. A resample draws
 * tasks with replacement, and then the runs of each task.
 */
export function differenceOf(pairs: readonly Pair[]): Difference {
  const random = randomFrom(SEED);
  const drawn = <T>(values: readonly T[]): T[] =>
    values.flatMap(() => values.slice((random() * values.length) | 0).slice(0, 1));
  const means = Array.from({ length: RESAMPLES }, () =>
    meanOf(drawn(pairs).map(({ before, after }) => shareOf(drawn(after)) - shareOf(drawn(before)))),
  ).toSorted((one, other) => one - other);
  const at = (share: number) => means[Math.round(share * (RESAMPLES - 1))] ?? 0;
  return {
    mean: meanOf(pairs.map(({ before, after }) => shareOf(after) - shareOf(before))),
    low: at(TAIL),
    high: at(1 - TAIL),
  };
}

/** Leaves out tasks that changed between the two reports: they say nothing about the agents. */
function pairsOf(a: Report, b: Report): { pairs: Pair[]; leftOut: string[] } {
  const names = [...new Set([...Object.keys(a.ranWith.tasks), ...Object.keys(b.ranWith.tasks)])].toSorted();
  const isSame = (name: string) =>
    a.ranWith.tasks[name] !== undefined && a.ranWith.tasks[name] === b.ranWith.tasks[name];
  const passes = ({ runs }: Report, name: string) => runs.filter((run) => of(run, name)).map(isPassed);
  const of = ({ task }: TaskRun, name: string) => task === name;
  return {
    pairs: names.filter(isSame).map((name) => ({ name, before: passes(a, name), after: passes(b, name) })),
    leftOut: names.filter((name) => !isSame(name)),
  };
}

function verdictOf({ low, high }: Difference, isEnough: boolean): string {
  if (!isEnough) return `With fewer than ${MIN_RUNS} runs of each task, too few to tell.`;
  if (low > 0) return "The second one is better.";
  return high < 0 ? "The first one is better." : "Chance explains it as well.";
}

function titleOf({ ranWith: { preset, model, brief } }: Report): string {
  return `${preset}${model === null ? "" : ` ${model}`}, brief ${brief}`;
}

function meanShare(pairs: readonly Pair[], side: "before" | "after"): number {
  return meanOf(pairs.map((pair) => shareOf(pair[side])));
}

function shareOf(passes: readonly boolean[]): number {
  return meanOf(passes.map(Number));
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function countOf(passes: readonly boolean[]): string {
  return `${passes.filter(Boolean).length} of ${passes.length}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

function points(difference: number): string {
  const value = (100 * difference).toFixed(0);
  return `${difference > 0 && value !== "0" ? "+" : ""}${value} points`;
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
