import type { DatabaseSync } from "node:sqlite";

/** The steps of a statement's query plan that go over a whole table, or sort it, instead of following an index. */
export function unindexedSteps(db: DatabaseSync, sql: string): string[] {
  return queryPlan(db, sql).filter(
    (step) => step.includes("TEMP B-TREE") || (step.startsWith("SCAN") && !/ INDEX /.test(step)),
  );
}

export function queryPlan(db: DatabaseSync, sql: string): string[] {
  return db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row["detail"]));
}
