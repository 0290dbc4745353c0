import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { quantile } from "./table.ts";

const TMPFS = 0x01021994;
const COMMITS = 100;
const AT_MOST_MS = 1000;

/**
 * Describes the machine, on which the figures depend, one fact per line. `dir` is a folder on the
 * disk that is measured.
 */
export function machineFacts(dir: string): string {
  const inMemory = statfsSync(dir).type === TMPFS ? " (in memory: durability costs nothing there)" : "";
  const model = cpus()[0]?.model.trim() ?? "unknown";
  return [
    `cores    ${availableParallelism()} × ${model}, load ${loadText()} before the run`,
    `Node.js  ${process.version} on ${process.platform} ${process.arch}`,
    `disk     ${tmpdir()}${inMemory}, ${syncedCommitMs(dir).toFixed(2)} ms for one synced commit`,
  ].join("\n");
}

/** Says how many processes wanted a core in the last minute. */
export function loadText(): string {
  return loadavg()[0]?.toFixed(1) ?? "unknown";
}

/** Measures the median time of SQLite's smallest durable commit, in milliseconds. */
function syncedCommitMs(dir: string): number {
  const db = new DatabaseSync(join(dir, "commit.sqlite"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE probe (n INTEGER)");
  const insert = db.prepare("INSERT INTO probe VALUES (?)");
  const commitsMs: number[] = [];
  const startedAtMs = performance.now();
  while (commitsMs.length < COMMITS && performance.now() - startedAtMs < AT_MOST_MS) {
    const beganAtMs = performance.now();
    insert.run(commitsMs.length);
    commitsMs.push(performance.now() - beganAtMs);
  }
  db.close();
  return quantile(commitsMs, 0.5);
}
