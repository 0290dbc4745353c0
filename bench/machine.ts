import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteDatabase, writeProbe } from "../src/store/sqlite-database.ts";
import { createSystemClock } from "../src/system-clock.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./table.ts";

const TMPFS = 0x01021994;
const COMMITS = 100;
const AT_MOST_MS = 1000;

/** What the figures depend on, a line each. `dir`: a folder on the disk that is measured. */
export async function machineFacts(dir: string, chosen: readonly Bench[]): Promise<string> {
  const commitMs = await syncedCommitMs(dir);
  const inMemory = statfsSync(dir).type === TMPFS ? " (in memory: durability costs nothing there)" : "";
  return [
    `cores    ${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "unknown"}, load ${loadavg()[0]?.toFixed(1)} before the run`,
    `Node.js  ${process.version} on ${process.platform} ${process.arch}`,
    `disk     ${tmpdir()}${inMemory}, ${commitMs.toFixed(2)} ms for one synced commit`,
    `rounds   ${chosen.map(({ name, rounds }) => `${name} ${rounds}`).join(", ")}`,
  ].join("\n");
}

/** The median time of the smallest durable commit, milliseconds. */
async function syncedCommitMs(dir: string): Promise<number> {
  const clock = createSystemClock();
  const { db, close } = await openSqliteDatabase({ path: join(dir, "commit.sqlite") }, { clock });
  const commitsMs: number[] = [];
  const startedAtMs = performance.now();
  while (commitsMs.length < COMMITS && performance.now() - startedAtMs < AT_MOST_MS) {
    const beganAtMs = performance.now();
    writeProbe(db, commitsMs.length);
    commitsMs.push(performance.now() - beganAtMs);
  }
  close();
  return quantile(commitsMs, 0.5);
}
