import { z } from "zod";
import type { Tables } from "./tables.ts";

/** Whether people changed what was merged, where that is known. */
export const Edits = z.enum(["none", "made", "unknown"]);
export type Edits = z.infer<typeof Edits>;

/** The merged pull requests of jobs. */
export class MergeStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Call this inside a transaction, when a job's pull request was seen to be merged. */
  add(jobId: string, link: string, nowMs: number): void {
    const sql = `INSERT INTO merges (job_id, link, project_id, merged_at)
      SELECT id, ?2, project_id, ?3 FROM jobs WHERE id = ?1 ON CONFLICT DO NOTHING`;
    this.#tables.run(sql, jobId, link, nowMs);
  }

  setEdits(jobId: string, link: string, edits: Edits): void {
    this.#tables.run(`UPDATE merges SET edits = ? WHERE job_id = ? AND link = ?`, edits, jobId, link);
  }

  /** The commits that a job's turns pushed, oldest first, as far as they are known. */
  pushesOf(jobId: string): string[] {
    const sql = `SELECT pushed AS id FROM turns WHERE job_id = ? AND pushed IS NOT NULL ORDER BY number`;
    return this.#tables.ids(sql, jobId);
  }
}
