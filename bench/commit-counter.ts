/**
 * A module that the measured program loads with `--import`. It counts the commits that changed
 * something, in all threads, and tells their number on request. The program itself knows nothing of
 * it.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import process from "node:process";
import { BroadcastChannel, isMainThread } from "node:worker_threads";

let commits = 0;
const threads = new BroadcastChannel("docs-agent-bench-commits");
threads.unref();
if (isMainThread) {
  threads.onmessage = () => (commits += 1);
  process.on("message", () => process.send?.({ commits }));
  // The bench has ended.
  process.on("disconnect", () => process.exit(1));
  // This channel alone must not keep the program alive.
  process.channel?.unref();
}

const { prepare, exec } = DatabaseSync.prototype;
const { get } = StatementSync.prototype;
const owners = new WeakMap<StatementSync, DatabaseSync>();
const changes = new WeakMap<DatabaseSync, { query: StatementSync; seen: number }>();

/** Looks for changes since the last look. Outside a transaction, they have been committed. */
function look(db: DatabaseSync): void {
  if (!db.isOpen || db.isTransaction) return;
  const known = changes.get(db) ?? { query: prepare.call(db, "SELECT total_changes() AS n"), seen: 0 };
  changes.set(db, known);
  const now = Number(get.call(known.query, {})?.["n"]);
  if (now === known.seen) return;
  known.seen = now;
  if (isMainThread) commits += 1;
  else threads.postMessage(null);
}

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: never[]) {
  const statement = prepare.call(this, sql, ...rest);
  owners.set(statement, this);
  return statement;
};
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  exec.call(this, sql);
  look(this);
};
for (const method of ["run", "get", "all"] as const) {
  const original = StatementSync.prototype[method] as (this: StatementSync, ...args: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, method, {
    value(this: StatementSync, ...args: unknown[]) {
      const result = original.apply(this, args);
      const owner = owners.get(this);
      if (owner !== undefined) look(owner);
      return result;
    },
  });
}
