import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { canTrace, readDiskWaits, straceTo } from "../disk-waits.ts";
import { Load } from "../load.ts";
import { cpuMs } from "../process-use.ts";
import { BenchError, type Context, type Figure, type Scenario } from "../scenario.ts";
import { nowMs } from "../../world/clock/epoch.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startDocsAgent, type Subject } from "../subjects.ts";
import { fillStore } from "../watched-jobs.ts";

const MANY = 100_000;
const FEW = 1000;
/** So long that none of the stored jobs is polled during the measurement. */
const FAR_MS = 6 * 60 * 60_000;
/** The number of jobs that each side polls once a second. */
const POLLED = 100;
const SETTLE_MS = 5000;
const WINDOWS = 6;
const WINDOW_MS = 2500;
const CHECKED_JOBS = 50;
const CHECKED_WITHIN_MS = 20_000;
const CHECKED_DUE_MS = 6000;

/**
 * Measures whether the cost of watching depends on the jobs that are due, and not on the number of
 * watched jobs. Two programs run at the same time, with 100,000 and with 1,000 watched jobs that
 * aren't due. First nothing else happens. Then each polls 100 further jobs once a second.
 */
export const idle: Scenario = {
  name: "idle",
  summary: `CPU time and waits for the disk: ${shown(MANY)} watched jobs against ${shown(FEW)}`,
  async run(context) {
    const { checkout, dir, progress } = context;
    progress("checking that jobs written into a store are polled");
    await checkFilling(context);
    progress("filling the stores");
    await fillStore(context, { store: "many.sqlite", jobs: MANY, dueInMs: FAR_MS });
    await fillStore(context, { store: "few.sqlite", jobs: FEW, dueInMs: FAR_MS });

    const isTraced = canTrace();
    if (!isTraced) progress("strace is missing or not allowed, so waits for the disk aren't measured");
    await using standIns = await StandIns.start(dir, {});
    const start = (name: string) =>
      startDocsAgent({
        checkout,
        standIns,
        dir,
        store: `${name}.sqlite`,
        env: { POLL_MIN_MS: "1000", POLL_MAX_MS: "1000" },
        ...(isTraced && { wrapper: straceTo(join(dir, `${name}.trace`)) }),
      });
    const many = await start("many");
    await using _many = many.program;
    const few = await start("few");
    await using _few = few.program;

    progress("nothing due");
    await sleep(SETTLE_MS);
    const resting = await measureWindows(many, few, dir);
    progress(`${POLLED} polls a second`);
    await watchJobs(many, 0);
    await watchJobs(few, POLLED);
    await sleep(SETTLE_MS);
    const before = await standIns.counts();
    const polling = await measureWindows(many, few, dir);
    const after = await standIns.counts();
    const polls = (after.polls - before.polls) / 2 / WINDOWS / (WINDOW_MS / 1000);
    if (polls < POLLED / 2) throw new BenchError(`Only ${polls.toFixed(0)} polls a second were made.`);

    return [
      figureOf("CPU per second, nothing due", resting, "cpuMs"),
      figureOf(`CPU per second, ${POLLED} polls a second`, polling, "cpuMs", "ratio ≤ 1.10"),
      ...(isTraced
        ? [figureOf(`waiting for the disk per second, ${POLLED} polls a second`, polling, "diskMs")]
        : []),
    ];
  },
};

/** Use per second of time. */
type Use = { cpuMs: number; diskMs: number };
type Uses = { many: Use[]; few: Use[] };

/** Measures both at the same time, so that both have the same machine. */
async function measureWindows(many: Subject, few: Subject, dir: string): Promise<Uses> {
  const uses: Uses = { many: [], few: [] };
  const sides = [
    ["many", many.program.pid],
    ["few", few.program.pid],
  ] as const;
  for (let window = 0; window < WINDOWS; window += 1) {
    const fromMs = nowMs();
    const before = { many: cpuMs(many.program.pid), few: cpuMs(few.program.pid) };
    await sleep(WINDOW_MS);
    const seconds = (nowMs() - fromMs) / 1000;
    for (const [name, pid] of sides) {
      const waits = readDiskWaits(join(dir, `${name}.trace`), fromMs, nowMs());
      uses[name].push({
        cpuMs: (cpuMs(pid) - before[name]) / seconds,
        diskMs: waits.reduce((sum, { tookMs }) => sum + tookMs, 0) / seconds,
      });
    }
  }
  return uses;
}

function figureOf(what: string, { many, few }: Uses, of: keyof Use, reach?: string): Figure {
  return {
    what,
    unit: "ms",
    measured: { name: `${MANY.toLocaleString("en-US")} jobs`, values: many.map((use) => use[of]) },
    against: { name: `${FEW.toLocaleString("en-US")} jobs`, values: few.map((use) => use[of]) },
    ...(reach !== undefined && { reach }),
  };
}

async function watchJobs({ origin }: Subject, first: number): Promise<void> {
  await using load = new Load(origin, 10, signedRequests(POLLED, 2 * POLLED, first));
  await load.run(Infinity);
}

/**
 * Checks that the program accepts the watched jobs that {@link fillStore} writes: it polls them all
 * when they fall due.
 */
async function checkFilling({ checkout, dir }: Context): Promise<void> {
  const store = "checked.sqlite";
  await fillStore({ checkout, dir }, { store, jobs: CHECKED_JOBS, dueInMs: CHECKED_DUE_MS });
  await using standIns = await StandIns.start(dir, {});
  const { program } = await startDocsAgent({ checkout, standIns, dir, store });
  await using _ = program;
  const arePolled = await standIns.until(({ jobsPolled }) => jobsPolled >= CHECKED_JOBS, CHECKED_WITHIN_MS);
  if (arePolled) return;
  throw new BenchError(
    "Jobs copied in the store aren't watched. Does this version keep ids without the request's own?",
  );
}

function shown(count: number): string {
  return count.toLocaleString("en-US");
}
