import { transaction } from "../../shared/store/sqlite/sqlite-database.ts";
import type { Tables } from "./tables.ts";

/** What is archived and deleted in time. Each method is one transaction. */
export class RetentionStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /**
   * Archives at most `limit` jobs of a project without activity since `sinceMs`. Returns their ids.
   */
  archiveInactive(projectId: string, sinceMs: number, limit: number, nowMs: number): string[] {
    return this.#atOnce(() => {
      const sql = `SELECT id FROM jobs WHERE archived_at IS NULL AND project_id = ? AND active_at <= ?
        AND NOT EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended')
        ORDER BY active_at LIMIT ?`;
      const ids = this.#tables.ids(sql, projectId, sinceMs, limit);
      for (const id of ids) this.#tables.run(ARCHIVE, nowMs, id);
      return ids;
    });
  }

  /**
   * Deletes at most `limit` jobs of a project that were archived by `beforeMs`, with all their
   * turns. Returns how many.
   */
  forgetArchived(projectId: string, beforeMs: number, limit: number): number {
    return this.#atOnce(() => {
      // There is an index by creation, and a job is created before it is archived.
      const sql = `SELECT id FROM jobs WHERE created_at <= ?2 AND archived_at <= ?2 AND project_id = ?1
        ORDER BY created_at LIMIT ?3`;
      const ids = this.#tables.ids(sql, projectId, beforeMs, limit);
      for (const id of ids) {
        this.#tables.run(`DELETE FROM overlaps WHERE job_id = ?1 OR other_id = ?1`, id);
        for (const table of ["questions", "attachments", "followed", "merges", "turns"]) {
          this.#tables.run(`DELETE FROM ${table} WHERE job_id = ?`, id);
        }
        this.#tables.run(`DELETE FROM jobs WHERE id = ?`, id);
      }
      return ids.length;
    });
  }

  /** What the branches of a project's jobs begin with. */
  branchPrefixes(projectId: string): string[] {
    return this.#tables.ids(`SELECT DISTINCT branch_prefix AS id FROM jobs WHERE project_id = ?`, projectId);
  }

  /** The projects that have jobs, including those that are no longer in the settings. */
  projectIds(): string[] {
    return this.#tables.ids(`SELECT DISTINCT project_id AS id FROM jobs`);
  }

  /** Deletes the answers that were given under idempotency keys by `beforeMs`. */
  forgetAnswered(beforeMs: number): void {
    this.#tables.run(`DELETE FROM idempotency WHERE created_at <= ?`, beforeMs);
  }

  #atOnce<T>(work: () => T): T {
    return transaction(this.#tables.db, work);
  }
}

/** Archives a job unless it is archived. */
export const ARCHIVE = `UPDATE jobs SET archived_at = ? WHERE id = ? AND archived_at IS NULL`;
