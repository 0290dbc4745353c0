import { z } from "zod";
import { lenient } from "../../shared/contract/lenient.ts";
import { FollowedPullRequest } from "../../shared/contract/pull-request.ts";
import { Time } from "../../shared/contract/reading.ts";
import { json } from "../base/json.ts";
import { OverlapStore } from "./overlap-store.ts";
import type { Tables } from "./tables.ts";

/** What is remembered about a followed pull request. Times are epoch milliseconds. */
export const FollowMemory = z.object({
  /**
   * When the newest version that we read was made, by the code host's clock. 0 if none was read.
   */
  seenAt: z.int().default(0),
  /** When we last saw a change, by our clock. */
  changedAt: z.int().default(0),
  /** How many answers in a row weren't final. */
  unknowns: z.int().default(0),
  /** How many answers in a row were older than what was known. */
  stales: z.int().default(0),
  /** How often in a row it couldn't be seen, and since when. */
  refusals: z.int().default(0),
  refusedAt: z.int().nullable().default(null),
});
export type FollowMemory = z.infer<typeof FollowMemory>;

/** A job whose pull request is followed. Times are epoch milliseconds. */
const FollowedRow = z.object({
  jobId: z.string(),
  projectId: z.string(),
  branchPrefix: z.string(),
  /** The address of the pull request's page. */
  link: z.string(),
  beganAt: z.int(),
  /** When to look at it. */
  lookAt: z.int(),
  memory: json(FollowMemory),
  /** As it was last seen. */
  record: json(lenient(FollowedPullRequest.nullable())),
});
export type FollowedJob = z.infer<typeof FollowedRow>;

/** A job whose pull request waits for a review, since when, and for whom. */
const AwaitingRow = z.object({
  jobId: z.string(),
  since: Time.or(z.int()),
  reviewers: json(z.array(z.string())),
});

const SELECT = `SELECT job_id AS jobId, followed.project_id AS projectId, branch_prefix AS branchPrefix,
    link, began_at AS beganAt, look_at AS lookAt, memory,
    pull_request AS record
  FROM followed JOIN jobs ON jobs.id = job_id
  WHERE look_at IS NOT NULL`;
const OF_PROJECTS = `followed.project_id IN (SELECT value FROM json_each(?1))`;
/**
 * Now, or a moment later, so that a look in progress notices that another was requested, because
 * what the look in progress brings may be older than the request.
 */
const NOW = `iif(look_at IN (?1, ?1 + 1), ?1 + 1, ?1)`;

/** A field of a pull request as it was last seen. */
export function pullField(name: string): string {
  return `pull_request ->> '$.${name}'`;
}

/** True for a pull request that was open when it was last seen. */
export const IS_OPEN = `${pullField("state")} = 'open'`;
const BASE = pullField("baseRef");

const AWAITS_LIVE = `pull_request ->> '$.url' = ? AND pull_request ->> '$.state' = 'merged'
  AND pull_request ->> '$.live' IS NULL`;

/** The jobs whose pull requests are followed, and what is known about them. */
export class FollowedStore {
  readonly #tables: Tables;
  readonly #overlaps: OverlapStore;

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#overlaps = new OverlapStore(tables);
  }

  /**
   * Call this inside a transaction, when a turn of the job has left its pull request. `overlaps`
   * are the pages of others that it found to change the same lines.
   */
  begin(jobId: string, link: string, overlaps: readonly string[], nowMs: number): void {
    this.#overlaps.replace(jobId, overlaps);
    const again = `UPDATE followed SET look_at = ${NOW} WHERE job_id = ?2 AND link = ?3`;
    if (this.#tables.run(again, nowMs, jobId, link) > 0) return;
    const sql = `INSERT OR REPLACE INTO followed (job_id, project_id, link, began_at, look_at)
      SELECT id, project_id, ?2, ?3, ?3 FROM jobs WHERE id = ?1`;
    this.#tables.run(sql, jobId, link, nowMs);
    this.#tables.run(`UPDATE jobs SET pull_request = 'null' WHERE id = ?`, jobId);
  }

  /** The followed jobs of these projects. */
  of(projectIds: readonly string[]): FollowedJob[] {
    return this.#tables.all(FollowedRow, `${SELECT} AND ${OF_PROJECTS}`, JSON.stringify(projectIds));
  }

  /**
   * The jobs of these projects whose pull requests are open, seen, no drafts, and not reviewed yet.
   */
  awaitingReview(projectIds: readonly string[]): z.infer<typeof AwaitingRow>[] {
    const sql = `SELECT job_id AS jobId, coalesce(${pullField("openedAt")}, began_at) AS since,
        coalesce(pull_request -> '$.waitingFor', '[]') AS reviewers
      FROM followed JOIN jobs ON jobs.id = job_id
      WHERE look_at IS NOT NULL AND ${OF_PROJECTS} AND ${IS_OPEN} AND ${pullField("review")} = 'none'
        AND coalesce(${pullField("isVisible")}, 1) AND NOT coalesce(${pullField("isDraft")}, 0)`;
    return this.#tables.all(AwaitingRow, sql, JSON.stringify(projectIds));
  }

  /** The followed jobs that are due for a look, the one that has waited longest first. */
  due(projectIds: readonly string[], nowMs: number, limit: number): FollowedJob[] {
    const sql = `${SELECT} AND ${OF_PROJECTS} AND look_at <= ?2 ORDER BY look_at, job_id LIMIT ?3`;
    return this.#tables.all(FollowedRow, sql, JSON.stringify(projectIds), nowMs, limit);
  }

  /** When the next look is due, or null if none is followed. */
  nextLookAt(projectIds: readonly string[]): number | null {
    const sql = `SELECT min(look_at) FROM followed WHERE ${OF_PROJECTS} AND look_at IS NOT NULL`;
    return this.#tables.value(z.int(), sql, JSON.stringify(projectIds));
  }

  /**
   * When a job's pull request was last seen to change, by our clock, if it is closed and not
   * merged. Null otherwise.
   */
  closedSeenAt(jobId: string): number | null {
    const sql = `SELECT memory ->> '$.changedAt' FROM followed JOIN jobs ON jobs.id = job_id
      WHERE job_id = ? AND pull_request ->> '$.state' = 'closed'`;
    return this.#tables.value(z.int(), sql, jobId);
  }

  /** True if the job's pull request is this one, is merged, and wasn't seen on the site. */
  awaitsLive(jobId: string, link: string): boolean {
    const sql = `SELECT count(*) FROM jobs WHERE id = ? AND ${AWAITS_LIVE}`;
    return this.#tables.value(z.int(), sql, jobId, link) === 1;
  }

  /** Call this inside a transaction, when a merged change was seen on the site. */
  setLive(jobId: string, link: string, url: string): void {
    const sql = `UPDATE jobs SET pull_request = json_set(pull_request, '$.live', ?1)
      WHERE id = ?2 AND ${AWAITS_LIVE.replace("?", "?3")}`;
    this.#tables.run(sql, url, jobId, link);
  }

  /** The branches that open pull requests of these projects go to, as they were last seen. */
  openBases(projectIds: readonly string[]): string[] {
    const sql = `SELECT DISTINCT ${BASE} AS id FROM followed JOIN jobs ON jobs.id = job_id
      WHERE ${OF_PROJECTS} AND look_at IS NOT NULL AND ${IS_OPEN} AND ${BASE} IS NOT NULL`;
    return this.#tables.ids(sql, JSON.stringify(projectIds));
  }

  /** Makes a look at all open pull requests into a branch due now. */
  lookAtBase(projectIds: readonly string[], base: string, nowMs: number): void {
    const into = `SELECT id FROM jobs WHERE ${IS_OPEN} AND ${BASE} = ?3`;
    const sql = `UPDATE followed SET look_at = ${NOW} WHERE look_at IS NOT NULL
      AND project_id IN (SELECT value FROM json_each(?2)) AND job_id IN (${into})`;
    this.#tables.run(sql, nowMs, JSON.stringify(projectIds), base);
  }

  /** Makes a look at a job's pull request due now, if it is followed. */
  lookNow(jobId: string, nowMs: number): void {
    const sql = `UPDATE followed SET look_at = ${NOW} WHERE job_id = ?2 AND look_at IS NOT NULL`;
    this.#tables.run(sql, nowMs, jobId);
  }

  /**
   * Call this inside a transaction to store the result of a look. If `lookAt` is null, the pull
   * request is no longer followed. If the job has another pull request by now, or is gone, nothing
   * changes. A look that was requested in the meantime stays due.
   */
  setLooked(
    { jobId, link, lookAt: wasDueAt, record: before }: FollowedJob,
    { record, memory, lookAt }: Pick<FollowedJob, "record" | "memory"> & { lookAt: number | null },
  ): void {
    const sql = `UPDATE followed SET memory = ?1, look_at = iif(look_at = ?2, ?3, look_at)
      WHERE job_id = ?4 AND link = ?5 AND look_at IS NOT NULL`;
    const values = [JSON.stringify(memory), wasDueAt, lookAt, jobId, link];
    if (this.#tables.run(sql, ...values) === 0) return;
    // Only written if it differs, because each write is told to clients.
    const change = `UPDATE jobs SET pull_request = ?1 WHERE id = ?2 AND pull_request <> ?1`;
    this.#tables.run(change, JSON.stringify(record && z.encode(FollowedPullRequest, record)), jobId);
    if (isSeenOpen(before) !== isSeenOpen(record)) this.#overlaps.tellOthers(jobId);
  }
}

/** What wasn't looked at yet was just left open. */
function isSeenOpen(record: FollowedPullRequest | null): boolean {
  return record === null || (record.state === "open" && record.isVisible);
}
