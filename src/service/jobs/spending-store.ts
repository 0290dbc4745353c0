import { z } from "zod";
import type { Tables } from "./tables.ts";

/** One day, milliseconds. Days are those of UTC. */
export const DAY_MS = 24 * 60 * 60_000;

const COST = `usage ->> '$.costUsd'`;

/** What the turns of projects cost. */
export class SpendingStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /**
   * What a project's turns have cost since the beginning of a day, in US dollars. A turn counts
   * when it has ended, and an unfinished one now, so that no cost is left out when a day begins.
   */
  spentSince(projectId: string, dayMs: number): number {
    // SQLite would otherwise read all turns of the project to find the unfinished ones.
    const unfinished = "turns INDEXED BY turns_unfinished";
    const sql = `SELECT
      (SELECT total(${COST}) FROM turns WHERE project_id = ?1 AND ended_at IS NOT NULL AND ended_at >= ?2)
      + (SELECT total(${COST}) FROM ${unfinished} WHERE project_id = ?1 AND state <> 'ended')
      + (SELECT total(usd) FROM spent_before WHERE project_id = ?1 AND day >= ?3)`;
    return this.#tables.value(z.number(), sql, projectId, dayMs, Math.floor(dayMs / DAY_MS)) ?? 0;
  }
}
