import { join } from "node:path";
import { createSqliteTaskQueue } from "../src/queue/sqlite-task-queue.ts";
import { openStore } from "../src/store/open-store.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { RecordingLogger } from "../test/support/recording-logger.ts";
import { type Bench, interleave } from "./bench.ts";

const DUE = 200;
const TRACKED = 100_000;
const ADDED_AT_ONCE = 10_000;
const WARM_UP_ROUNDS = 3;
const PERIOD_MS = 5000;
const FAR_MS = 24 * 60 * 60_000;

/** That the cost of polling depends on what is due, never on how much is tracked. */
export const pollingCost: Bench = {
  name: "polling-cost",
  summary: `CPU time to run ${DUE} due tasks with ${TRACKED.toLocaleString("en-US")} others tracked, against none`,
  rounds: 25,
  budgetMs: 20_000,
  async run(context) {
    const { dir } = context;
    await using many = await openQueue(join(dir, "many.sqlite"), TRACKED);
    await using few = await openQueue(join(dir, "few.sqlite"), 0);
    await interleave({ ...context, rounds: WARM_UP_ROUNDS }, many.runDue, few.runDue);
    const { a, b } = await interleave(context, many.runDue, few.runDue);
    return [
      {
        what: `CPU for ${DUE} due tasks`,
        unit: "ms",
        measured: { name: `${(DUE + TRACKED).toLocaleString("en-US")} tracked`, values: a },
        against: { name: `${DUE} tracked`, values: b },
      },
    ];
  },
};

type MeasuredQueue = AsyncDisposable & {
  /** Lets the next due tasks run, which schedules them anew as polls are. Resolves to the CPU time that took, milliseconds. */
  runDue: () => Promise<number>;
};

/** A queue in this process, with tasks that fall due together again and again, and `others` that do not. */
async function openQueue(path: string, others: number): Promise<MeasuredQueue> {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const store = await openStore({ url: `sqlite://${path}`, clock, logger });
  const queue = createSqliteTaskQueue({ db: store.db, clock, logger });
  const startMs = clock.now();

  async function addTasks(prefix: string, count: number, dueAt: number): Promise<void> {
    for (let first = 0; first < count; first += ADDED_AT_ONCE) {
      const size = Math.min(ADDED_AT_ONCE, count - first);
      const adds = Array.from({ length: size }, (_, n) => queue.add(pollTask(prefix, first + n, dueAt)));
      await Promise.all(adds);
    }
  }
  await addTasks("other", others, startMs + FAR_MS);
  await addTasks("due", DUE, startMs + PERIOD_MS);

  let runs = 0;
  queue.start(async () => {
    runs += 1;
    return { kind: "again", dueAt: clock.now() + PERIOD_MS };
  });
  await queue.idle();

  return {
    async runDue() {
      runs = 0;
      const before = process.cpuUsage();
      clock.advance(PERIOD_MS);
      await queue.idle();
      const { user, system } = process.cpuUsage(before);
      if (runs !== DUE) throw new Error(`${runs} tasks ran instead of ${DUE}`);
      return (user + system) / 1000;
    },
    async [Symbol.asyncDispose]() {
      await queue.stop(0);
      await store.close();
    },
  };
}

/** In the shape and size of the product's own polls. */
function pollTask(prefix: string, n: number, dueAt: number) {
  const turnId = `command:${prefix}.${n}.0123456789abcdef0123456789abcdef`;
  return {
    id: `poll:${turnId}:1`,
    type: "poll",
    dueAt,
    payload: {
      turnId,
      jobId: `job_${n}`,
      thread: `C0BENCH${n}:1767603600.000100`,
      whose: { teamId: "T0BENCH", channelId: `C0BENCH${n}`, userId: "U0BENCH" },
      watch: 1,
      state: { faults: 0, strikes: null },
    },
  };
}
