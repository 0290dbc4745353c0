import { MAX_OVERLAPS } from "../../shared/contract/pull-request.ts";
import type { Tables } from "./tables.ts";

/** In a query on `jobs`: the pages of the open pull requests that overlap the job's, as JSON. */
export const OVERLAPS = `(SELECT json_group_array(link) FROM (
    SELECT link FROM overlaps JOIN followed ON followed.job_id = other_id JOIN jobs AS other ON
      other.id = other_id
    WHERE overlaps.job_id = jobs.id AND look_at IS NOT NULL
      AND coalesce(other.pull_request ->> '$.state', 'open') = 'open'
      AND coalesce(other.pull_request ->> '$.isVisible', 1)
    ORDER BY began_at DESC LIMIT ${MAX_OVERLAPS}))`;

/**
 * Which jobs' pull requests change the same lines, as the newest turn of either found. Call its
 * methods inside a transaction.
 */
export class OverlapStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Replaces what is known of a job by what its turn found: the pages of these pull requests. */
  replace(jobId: string, links: readonly string[]): void {
    const before = this.#others(jobId);
    this.#tables.run(`DELETE FROM overlaps WHERE job_id = ?1 OR other_id = ?1`, jobId);
    const others = `FROM followed WHERE link IN (SELECT value FROM json_each(?2)) AND job_id <> ?1`;
    const sql = `INSERT INTO overlaps SELECT ?1, job_id ${others} UNION ALL SELECT job_id, ?1 ${others}`;
    this.#tables.run(sql, jobId, JSON.stringify(links));
    const after = this.#others(jobId);
    const either = [...before, ...after];
    this.#tell(either.filter((id) => before.includes(id) !== after.includes(id)));
  }

  /** Tells clients that the records of those that overlap a job's pull request have changed. */
  tellOthers(jobId: string): void {
    this.#tell(this.#others(jobId));
  }

  #others(jobId: string): string[] {
    return this.#tables.ids(`SELECT other_id AS id FROM overlaps WHERE job_id = ?`, jobId);
  }

  #tell(jobIds: readonly string[]): void {
    // Their rows stay as they are, but a trigger gives them the number of a change.
    const sql = `UPDATE jobs SET pull_request = pull_request WHERE id IN (SELECT value FROM json_each(?))`;
    if (jobIds.length > 0) this.#tables.run(sql, JSON.stringify(jobIds));
  }
}
