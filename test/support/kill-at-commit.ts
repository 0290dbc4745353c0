/**
 * A module that the real program loads with `--import`. It counts the program's commits and reports
 * each to the parent process. `isEmpty` means that a commit changed nothing. On request, it ends
 * the process with SIGKILL right before or right after one of the commits. The program itself knows
 * nothing of it.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import process from "node:process";

const [phase, number] = (process.env["KILL_AT_COMMIT"] ?? "never:0").split(":");
const target = Number(number);
let commits = 0;

const owners = new WeakMap<StatementSync, { db: DatabaseSync; sql: string }>();

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal arrives before the system call returns. This line is for the type.
  throw new Error("killed");
}

function aroundCommit<T>(sql: string, commit: () => T): T {
  commits += 1;
  if (commits === target && phase === "before") die();
  const result = commit();
  if (commits === target && phase === "after") die();
  process.send?.({
    commit: commits,
    isEmpty: isEmpty(result),
    sql: sql.trim().replaceAll(/\s+/g, " ").slice(0, 60),
  });
  return result;
}

/** True if the statement found nothing to change, so that it leaves nothing on the disk. */
function isEmpty(result: unknown): boolean {
  if (Array.isArray(result)) return result.length === 0;
  return typeof result === "object" && result !== null && "changes" in result && Number(result.changes) === 0;
}

const { prepare, exec } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: never[]) {
  const statement = prepare.call(this, sql, ...rest);
  owners.set(statement, { db: this, sql });
  return statement;
};
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  return /^\s*COMMIT/i.test(sql) ? aroundCommit(sql, () => exec.call(this, sql)) : exec.call(this, sql);
};

for (const method of ["run", "get", "all"] as const) {
  const original = StatementSync.prototype[method] as (this: StatementSync, ...args: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, method, {
    value(this: StatementSync, ...args: unknown[]) {
      const owner = owners.get(this);
      const commits =
        owner !== undefined &&
        /^\s*(?:INSERT|UPDATE|DELETE|REPLACE)/i.test(owner.sql) &&
        !owner.db.isTransaction;
      return commits ? aroundCommit(owner.sql, () => original.apply(this, args)) : original.apply(this, args);
    },
  });
}
