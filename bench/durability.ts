import { join } from "node:path";
import { taskSql } from "../src/queue/task-sql.ts";
import { openSqliteDatabase, transaction } from "../src/store/sqlite-database.ts";
import { createSystemClock } from "../src/system-clock.ts";
import { openTask } from "../src/tasks/open.ts";
import { makeRequest } from "../test/support/builders.ts";
import { type Bench, interleave } from "./bench.ts";

const MEASURED_MS = 300;
const BATCH = 10;

/** What it costs that an accepted request survives a power cut (FULL), and not only a crash (NORMAL). */
export const durability: Bench = {
  name: "durability",
  summary: "tasks added with synchronous=FULL, as the product has it, against NORMAL",
  rounds: 7,
  budgetMs: 12_000,
  async run(context) {
    const { dir } = context;
    const clock = createSystemClock();
    const payload = JSON.stringify(openTask(makeRequest()).payload);

    /** Adds for a while, so many per commit. Resolves to adds per second. */
    async function measure(synchronous: "FULL" | "NORMAL", batch: number, round: number): Promise<number> {
      const path = join(dir, `${synchronous}-${batch}-${round}.sqlite`);
      const { db, close } = await openSqliteDatabase({ path }, { clock });
      db.exec(`PRAGMA synchronous = ${synchronous}`);
      const add = db.prepare(taskSql.add);
      const nowMs = clock.now();
      let added = 0;
      const startedAt = performance.now();
      while (performance.now() - startedAt < MEASURED_MS) {
        transaction(db, () => {
          for (let n = 0; n < batch; n += 1) {
            added += 1;
            const lane = `channel:T0BENCH:C0BENCH${added}`;
            add.run(`open:command:${added}`, "open", lane, payload, "waiting", nowMs, nowMs, nowMs);
          }
        });
      }
      const elapsedMs = performance.now() - startedAt;
      close();
      return (added / elapsedMs) * 1000;
    }

    const measureBoth = async (synchronous: "FULL" | "NORMAL", round: number) => ({
      single: await measure(synchronous, 1, round),
      batched: await measure(synchronous, BATCH, round),
    });
    const { a, b } = await interleave(
      context,
      (round) => measureBoth("FULL", round),
      (round) => measureBoth("NORMAL", round),
    );
    const sidesOf = (of: "single" | "batched") => ({
      measured: { name: "FULL", values: a.map((rates) => rates[of]) },
      against: { name: "NORMAL", values: b.map((rates) => rates[of]) },
    });
    return [
      { what: "adds, one per commit", unit: "per second", ...sidesOf("single") },
      { what: `adds, ${BATCH} per commit`, unit: "per second", ...sidesOf("batched") },
    ];
  },
};
