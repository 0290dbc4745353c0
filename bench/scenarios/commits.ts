import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { canTrace, readDiskWaits, straceTo } from "../disk-waits.ts";
import { type Context, type Figure, interleave, type Scenario } from "../scenario.ts";
import { nowMs } from "../../world/clock/epoch.ts";
import { signedRequests } from "../signed-request.ts";
import { startDocsAgent } from "../subjects.ts";
import { measureTurns, QUICK_POLLS, QUIET_MS, runTurns, startQuickJobs } from "../turns.ts";

const COMMIT_COUNTER = new URL("../commit-counter.ts", import.meta.url);
const TURNS_ALONE = 5;
const TURNS_TOGETHER = 600;
const CPU_ROUNDS = 2;
const QUIET_WITHIN_MS = 8000;

const Answer = z.object({ commits: z.number() });

/**
 * Measures the cost of a turn with one poll: commits, waits for the disk, and CPU time. Each
 * request has its own channel, and Slack sets no limits. Undisturbed turns come one after the
 * other. Saturated turns come all at once.
 */
export const commits: Scenario = {
  name: "commits",
  summary: "commits, fsyncs and CPU time per turn, undisturbed and saturated; CPU time against 899ea2e too",
  async run(context) {
    const counted = await countCommits(context);
    const { checkout, baseline, dir, progress } = context;
    const { a, b } = await interleave(
      CPU_ROUNDS,
      (round) => {
        progress(`CPU time, round ${round + 1} of ${CPU_ROUNDS}`);
        return measureTurns({ checkout, dir }, { store: `cpu-${round}.sqlite`, turns: TURNS_TOGETHER });
      },
      async (round) =>
        baseline === null
          ? null
          : await measureTurns(
              { checkout: baseline, dir },
              { store: `cpu-then-${round}.sqlite`, turns: TURNS_TOGETHER },
            ),
    );
    const then = b.filter((result) => result !== null);
    const sidesOf = (of: "cpuMsPerTurn" | "turnsPerSecond") => ({
      measured: { name: "saturated", values: a.map((result) => result[of]) },
      ...(baseline !== null && {
        against: { name: baseline.name, values: then.map((result) => result[of]) },
      }),
    });
    const alone = (value: number) => ({ name: "undisturbed", values: [value] });
    const together = (value: number) => ({ name: "saturated", values: [value] });
    const traced: Figure[] =
      counted.fsyncs === null
        ? []
        : [
            { what: "fsyncs", unit: "per turn", measured: alone(counted.fsyncs.alone) },
            { what: "fsyncs", unit: "per turn", measured: together(counted.fsyncs.together), reach: "≤ 3" },
            { what: "waiting for the disk per turn", unit: "ms", measured: together(counted.fsyncs.waitMs) },
          ];
    return [
      { what: "commits", unit: "per turn", measured: alone(counted.alone), reach: "≤ 10" },
      { what: "commits", unit: "per turn", measured: together(counted.together) },
      ...traced,
      { what: "CPU per turn", unit: "ms", ...sidesOf("cpuMsPerTurn"), reach: "≤ 5" },
      { what: `${TURNS_TOGETHER} turns at once`, unit: "per second", ...sidesOf("turnsPerSecond") },
    ];
  },
};

type Counted = {
  alone: number;
  together: number;
  /** Null if they can't be counted. */
  fsyncs: { alone: number; together: number; waitMs: number } | null;
};

async function countCommits({ checkout, dir, progress }: Context): Promise<Counted> {
  const isTraced = canTrace();
  if (!isTraced) progress("strace is missing or not allowed, so fsyncs aren't counted");
  const trace = join(dir, "trace");
  await using standIns = await startQuickJobs(dir);
  const subject = await startDocsAgent({
    checkout,
    standIns,
    dir,
    store: "counted.sqlite",
    env: QUICK_POLLS,
    preload: COMMIT_COUNTER,
    ...(isTraced && { wrapper: straceTo(trace) }),
  });
  await using program = subject.program;
  const commitsYet = async () => Answer.parse(await program.ask({})).commits;
  const turns = signedRequests(TURNS_ALONE + TURNS_TOGETHER, TURNS_ALONE + TURNS_TOGETHER);

  await whenQuiet(commitsYet);
  const start = { atMs: nowMs(), commits: await commitsYet() };
  for (const [index, turn] of turns.slice(0, TURNS_ALONE).entries()) {
    progress(`turn ${index + 1} of ${TURNS_ALONE}`);
    await runTurns([subject], standIns, [turn], index + 1);
    await whenQuiet(commitsYet);
  }
  const middle = { atMs: nowMs(), commits: await commitsYet() };
  progress(`${TURNS_TOGETHER} turns at once`);
  await runTurns([subject], standIns, turns.slice(TURNS_ALONE), turns.length);
  await whenQuiet(commitsYet);
  const end = { atMs: nowMs(), commits: await commitsYet() };

  const waitsAlone = readDiskWaits(trace, start.atMs, middle.atMs);
  const waitsTogether = readDiskWaits(trace, middle.atMs, end.atMs);
  return {
    alone: (middle.commits - start.commits) / TURNS_ALONE,
    together: (end.commits - middle.commits) / TURNS_TOGETHER,
    fsyncs: isTraced
      ? {
          alone: waitsAlone.length / TURNS_ALONE,
          together: waitsTogether.length / TURNS_TOGETHER,
          waitMs: waitsTogether.reduce((sum, { tookMs }) => sum + tookMs, 0) / TURNS_TOGETHER,
        }
      : null,
  };
}

/**
 * Resolves when there has been no commit for a while, or after a limited time if the program
 * commits all the time.
 */
async function whenQuiet(commitsYet: () => Promise<number>): Promise<void> {
  const startedAt = performance.now();
  let last = await commitsYet();
  let quietSince = startedAt;
  while (performance.now() - quietSince < QUIET_MS && performance.now() - startedAt < QUIET_WITHIN_MS) {
    await sleep(100);
    const now = await commitsYet();
    if (now !== last) quietSince = performance.now();
    last = now;
  }
}
