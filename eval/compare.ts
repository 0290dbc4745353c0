import { didNever, NEVER, type Score, scoreOf } from "./score.ts";
import { isPassed, type Report, type TaskRun } from "./report-schema.ts";
import {
  chanceOfDifference,
  type Difference,
  differenceOf,
  meanOf,
  moreThanChance,
  type Pair,
  shareOf,
  smallestShown,
} from "./statistics.ts";

/** With fewer runs of a task, a difference may just as well be chance. */
const MIN_RUNS = 5;
/** The numbers of runs for which the text says what they show. */
const MORE_RUNS = [10, 20];

type NamedPair = Pair & { name: string };
type Side = Pick<Score, "share" | "perPassed" | "never">;

/** What changed from one report to another, in the tasks that are the same in both. */
export type Comparison = {
  tasks: number;
  leftOut: string[];
  before: Side;
  after: Side;
  difference: Difference;
  /**
   * `nothing` if no task is the same. `worse` if the interval is below zero, or if more runs did
   * what no run may ever do.
   */
  verdict: "better" | "worse" | "chance" | "too-few" | "nothing";
  /** Only tasks that differ. `isMore` is true if chance hardly explains that one. */
  changed: { task: string; before: string; after: string; isMore: boolean }[];
  /** For each number of runs, the difference that these tasks show four times in five. */
  shows: Record<string, number>;
};

/** Compares two reports. */
export function compared(a: Report, b: Report): Comparison {
  const { pairs, leftOut } = pairsOf(a, b);
  const names = new Set(pairs.map(({ name }) => name));
  const [before, after] = [scoreOf(only(a, names)), scoreOf(only(b, names))];
  const fewest = Math.min(...pairs.flatMap((pair) => [pair.before.length, pair.after.length]));
  const difference = differenceOf(pairs);
  const isMore = moreThanChance(pairs.map(chanceOfDifference));
  const counts = [...new Set([fewest, ...MORE_RUNS])].filter((count) => count >= fewest);
  const alike = pairs.map((pair) => [...pair.before, ...pair.after]);
  return {
    tasks: pairs.length,
    leftOut,
    before: sideOf(before),
    after: sideOf(after),
    difference,
    verdict: pairs.length === 0 ? "nothing" : verdictOf(difference, fewest >= MIN_RUNS, didMore(a, b, names)),
    changed: pairs.flatMap((pair, at) =>
      shareOf(pair.before) === shareOf(pair.after)
        ? []
        : [
            {
              task: pair.name,
              before: countOf(pair.before),
              after: countOf(pair.after),
              isMore: isMore[at] ?? false,
            },
          ],
    ),
    shows:
      pairs.length === 0
        ? {}
        : Object.fromEntries(counts.map((count) => [count, smallestShown(alike, count)])),
  };
}

function sideOf({ share, perPassed, never }: Score): Side {
  return { share, perPassed, never };
}

/** A report without other tasks. */
function only(report: Report, names: ReadonlySet<string>): Pick<Report, "runs" | "tests" | "about"> {
  const tests = Object.fromEntries(Object.entries(report.tests).filter(([name]) => names.has(name)));
  return { ...report, tests, runs: report.runs.filter(({ task }) => names.has(task)) };
}

/** Leaves out tasks that changed between the two reports: they say nothing about the agents. */
function pairsOf(a: Report, b: Report): { pairs: NamedPair[]; leftOut: string[] } {
  const names = [...new Set([...Object.keys(a.ranWith.tasks), ...Object.keys(b.ranWith.tasks)])].toSorted();
  const isSame = (name: string) =>
    a.ranWith.tasks[name] !== undefined && a.ranWith.tasks[name] === b.ranWith.tasks[name];
  // Runs that are missing count as not passed.
  const passes = ({ runs, ranWith }: Report, name: string) => {
    const there = runs.filter((run) => of(run, name)).map(isPassed);
    return [...there, ...Array.from({ length: Math.max(0, ranWith.runs - there.length) }, () => false)];
  };
  const of = ({ task }: TaskRun, name: string) => task === name;
  return {
    pairs: names.filter(isSame).map((name) => ({ name, before: passes(a, name), after: passes(b, name) })),
    leftOut: names.filter((name) => !isSame(name)),
  };
}

/** True if a larger share of the second report's runs did what no run may ever do. */
function didMore(a: Report, b: Report, names: ReadonlySet<string>): boolean {
  // What a task counts for may have been noted only by the later one.
  const about = { ...a.about, ...b.about };
  const sharesOf = ({ runs }: Report) =>
    NEVER.map((what) => {
      const did = runs
        .filter(({ task }) => names.has(task))
        .flatMap((run) => {
          const known = about[run.task];
          return known === undefined ? [] : (didNever(run, known)[what] ?? []);
        });
      return meanOf(did.map(Number));
    });
  const before = sharesOf(a);
  return sharesOf(b).some((share, at) => share > (before[at] ?? 0));
}

function verdictOf({ low, high }: Difference, isEnough: boolean, didWorse: boolean): Comparison["verdict"] {
  if (didWorse) return "worse";
  if (!isEnough) return "too-few";
  if (low > 0) return "better";
  return high < 0 ? "worse" : "chance";
}

function countOf(passes: readonly boolean[]): string {
  return `${passes.filter(Boolean).length} of ${passes.length}`;
}
