import type { DatabaseSync } from "node:sqlite";

/**
 * Returns the steps of a statement's query plan that scan or sort a whole table and don't follow an
 * index.
 */
export function unindexedSteps(db: DatabaseSync, sql: string): string[] {
  return queryPlan(db, sql).filter(
    (step) => step.includes("TEMP B-TREE") || (step.startsWith("SCAN") && !/ INDEX /.test(step)),
  );
}

/** Returns the steps of a statement's query plan. */
export function queryPlan(db: DatabaseSync, sql: string): string[] {
  return db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row["detail"]));
}
