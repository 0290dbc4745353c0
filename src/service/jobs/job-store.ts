import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { cut } from "../../shared/text/text.ts";
import { Held, MAX_SHOWN_TURNS } from "../../shared/contract/turn.ts";
import { transaction } from "../../shared/store/sqlite/sqlite-database.ts";
import type { KeptAttachment } from "./attachment-files.ts";
import {
  type EarlierTurn,
  type RunnerLostError,
  type RunTurnResult,
  type RunnerReport,
  TurnQuality,
} from "../runner/runner.ts";
import { type Acceptance, acceptTurnRequest, wasAnsweredBefore, type TurnRequest } from "./acceptance.ts";
import { hashOfToken } from "../runners/lease.ts";
import { FollowedStore } from "./followed-store.ts";
import { JobRow, SELECT_JOB, SELECT_TURN, TurnRow, type TurnKey } from "./rows.ts";
import { ChangeFeed } from "./change-feed.ts";
import { earlierTurns } from "./earlier-turns.ts";
import { ARCHIVE, RetentionStore } from "./retention-store.ts";
import { QuestionStore } from "./question-store.ts";
import { MergeStore } from "./merge-store.ts";
import { PeopleStore } from "./people-store.ts";
import { SpendingStore } from "./spending-store.ts";
import { StandingStore } from "./standing-store.ts";
import type { ListPlace } from "./list-place.ts";
import { cutOrNull } from "./sent-job.ts";
import { sumUsage, type UsageOf, type UsageSum } from "./usage-sums.ts";
import { columnsOf, Tables } from "./tables.ts";
import type { JobStatus } from "../../shared/contract/job.ts";

const MAX_SUMMARY_CHARS = 16_000;
const MAX_REASON_CHARS = 2_000;
const MAX_LEFT_OUT = 200;
/**
 * The most jobs that a page of a list looks through, so that a rare status doesn't make it slow.
 */
const LIST_SCANNED = 500;

/** As the id of a lease: job, turn and attempt. */
const WORK_ID = /^(.{1,200})\.(\d{1,9})\.(\d{1,9})$/;

const PlaceRow = z.object({ createdAt: z.int(), id: z.string() });
const AttachmentRow = z.object({ id: z.string(), name: z.string(), mediaType: z.string(), bytes: z.int() });

/** All that the runner has reported about a turn so far, as people see it. */
export type TurnReport = Pick<TurnRow, "progress" | "step" | "plan" | "usage">;
/** The parts of a report that are written at once, because the turn depends on them. */
export type NotedReport = Pick<RunnerReport, "agentRuns" | "isRound" | "brief" | "branch" | "pushed">;

/** A lease that a turn begins with: the id of its runner, and SHA-256 of its token. */
export type NewLease = { runner: string; tokenHash: Buffer };

/** A page of a list. `next` is where the following page begins, or null on the last one. */
export type JobPage = { jobs: JobRow[]; next: ListPlace | null };

/**
 * Jobs and their turns in the service's SQLite file. Each method is synchronous and, except
 * `accept`, one transaction. The condition of each write contains what it relies on, because others
 * write to the same rows.
 */
export class JobStore {
  readonly #tables: Tables;
  readonly questions: QuestionStore;
  readonly followed: FollowedStore;
  readonly changes: ChangeFeed;
  readonly retention: RetentionStore;
  readonly spending: SpendingStore;
  readonly standing: StandingStore;
  readonly merges: MergeStore;
  readonly people: PeopleStore;

  constructor(db: DatabaseSync) {
    this.#tables = new Tables(db, () => this.changes.look());
    this.questions = new QuestionStore(this.#tables);
    this.followed = new FollowedStore(this.#tables);
    this.changes = new ChangeFeed(this.#tables);
    this.retention = new RetentionStore(this.#tables);
    this.spending = new SpendingStore(this.#tables);
    this.standing = new StandingStore(this.#tables);
    this.merges = new MergeStore(this.#tables);
    this.people = new PeopleStore(this.#tables);
  }

  /** See {@link earlierTurns}. */
  earlierTurns(key: TurnKey): EarlierTurn[] {
    return earlierTurns(this.#tables, key);
  }

  /** Accepts or refuses a create or a message, inside the caller's transaction. */
  accept(request: TurnRequest, nowMs: number): Acceptance {
    return acceptTurnRequest(this.#tables, request, nowMs);
  }

  /** True if the job got a turn of this kind after that time. */
  hasTurnSince(jobId: string, kind: TurnRow["kind"], atMs: number): boolean {
    const sql = `SELECT number FROM turns WHERE job_id = ? AND kind = ? AND accepted_at > ?`;
    return this.#tables.value(z.int(), sql, jobId, kind, atMs) !== null;
  }

  /** See {@link sumUsage}. */
  usage(of: UsageOf): UsageSum[] {
    return sumUsage(this.#tables, of);
  }

  /** See {@link wasAnsweredBefore}. */
  wasAnsweredBefore(projectId: string, key: string): boolean {
    return wasAnsweredBefore(this.#tables, projectId, key);
  }

  job(id: string): JobRow | null {
    return this.#tables.one(JobRow, `${SELECT_JOB} WHERE id = ?`, id);
  }

  /** Newest first. */
  jobs(filter: { projectId: string | null; status: JobStatus | null; limit: number }): JobRow[] {
    const sql = `SELECT * FROM (${SELECT_JOB} WHERE ?1 IS NULL OR project_id = ?1 ORDER BY created_at
      DESC, id)
      WHERE ?2 IS NULL OR status = ?2 LIMIT ?3`;
    return this.#tables.all(JobRow, sql, filter.projectId, filter.status, filter.limit);
  }

  /**
   * At most `limit` of a project's jobs after a place, newest first. A page before the last one may
   * be short or even empty.
   */
  page(projectId: string, after: ListPlace, status: JobStatus | null, limit: number): JobPage {
    const from = [projectId, after.createdAt, after.id];
    const rest = `WHERE project_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC`;
    const sql = `SELECT * FROM (${SELECT_JOB} ${rest} LIMIT ${LIST_SCANNED}) WHERE ?4 IS NULL OR status
      = ?4 LIMIT ?5`;
    const jobs = this.#tables.all(JobRow, sql, ...from, status, limit);
    const last = jobs.at(-1);
    if (jobs.length === limit && last !== undefined) return { jobs, next: last };
    const scanned = `SELECT created_at AS createdAt, id FROM jobs ${rest} LIMIT 1 OFFSET ${LIST_SCANNED - 1}`;
    return { jobs, next: this.#tables.one(PlaceRow, scanned, ...from) };
  }

  /** Oldest first. */
  turns(jobId: string): TurnRow[] {
    return this.#tables.all(TurnRow, `${SELECT_TURN} WHERE job_id = ? ORDER BY number`, jobId);
  }

  /** The newest turns up to `upTo`, as many as a record shows, oldest first. */
  shownTurns(jobId: string, upTo = Number.MAX_SAFE_INTEGER): TurnRow[] {
    const sql = `${SELECT_TURN} WHERE job_id = ? AND number <= ? ORDER BY number DESC LIMIT ?`;
    return this.#tables.all(TurnRow, sql, jobId, upTo, MAX_SHOWN_TURNS).toReversed();
  }

  turn({ jobId, number }: TurnKey): TurnRow | null {
    return this.#tables.one(TurnRow, `${SELECT_TURN} WHERE job_id = ? AND number = ?`, jobId, number);
  }

  /** The newest commit of the job's newest pull request when its turn ended, or null. */
  headOf(jobId: string): string | null {
    return this.#ofPullRequest(z.string(), "headSha", jobId);
  }

  /** The number of the job's newest pull request, or null. */
  pullRequestOf(jobId: string): number | null {
    return this.#ofPullRequest(z.int(), "number", jobId);
  }

  /** The attachments of a turn's prompt, in order. Their files exist until the turn has ended. */
  attachments({ jobId, number }: TurnKey): KeptAttachment[] {
    const sql = `SELECT ${columnsOf(AttachmentRow)} FROM attachments
      WHERE job_id = ? AND turn = ? ORDER BY position`;
    return this.#tables.all(AttachmentRow, sql, jobId, number);
  }

  /** The ids of the attachments of unfinished turns. */
  neededAttachments(): Set<string> {
    const sql = `SELECT id FROM turns CROSS JOIN attachments ON attachments.job_id = turns.job_id AND
      turn = number
      WHERE state <> 'ended'`;
    return new Set(this.#tables.ids(sql));
  }

  /** The jobs of these projects, or of all, with an unfinished turn. The longest wait is first. */
  unfinishedJobs(projectIds: readonly string[] | null = null): string[] {
    const sql = `SELECT job_id AS id FROM turns
      WHERE state <> 'ended' AND (?1 IS NULL OR project_id IN (SELECT value FROM json_each(?1)))
      GROUP BY job_id ORDER BY min(accepted_at), job_id`;
    return this.#tables.ids(sql, projectIds === null ? null : JSON.stringify(projectIds));
  }

  /** The job's first unfinished turn. */
  oldestUnfinished(jobId: string): TurnRow | null {
    const sql = `${SELECT_TURN} WHERE job_id = ? AND state <> 'ended' ORDER BY number LIMIT 1`;
    return this.#tables.one(TurnRow, sql, jobId);
  }

  /**
   * Notes that a runner is about to start, with its lease, and counts one more attempt. Returns
   * false if the turn has ended.
   */
  start({ jobId, number }: TurnKey, nowMs: number, { runner, tokenHash }: NewLease): boolean {
    return this.#atOnce(() => {
      // Nobody waits for the answers to an earlier attempt's questions anymore.
      this.questions.forget(jobId, number);
      // A turn that is still running wasn't stopped: the service died during it. That counts if its
      // agent was started.
      const sql = `UPDATE turns SET attempts = attempts + 1 - (state = 'running' AND NOT agent_runs),
        agent_runs = 0, held = 'null', state = 'running', started_at = coalesce(started_at, ?),
        runner = ?, lease = ?, lease_until = NULL, lease_attempt = lease_attempt + 1, lease_used = usage
        WHERE job_id = ? AND number = ? AND state <> 'ended'`;
      return this.#tables.run(sql, nowMs, runner, tokenHash.toString("hex"), jobId, number) === 1;
    });
  }

  /** Notes until when a turn's lease lasts. */
  renew(key: TurnKey, untilMs: number): void {
    this.#note(key, "lease_until = ?", Math.ceil(untilMs));
  }

  /** True if a turn runs, or is about to be taken up again, at this runner and with this lease. */
  isLeased({ workId, token, runnerId }: { workId: string; token: string; runnerId: string }): boolean {
    const [, jobId = "", number, attempt] = WORK_ID.exec(workId) ?? [];
    const sql = `SELECT number FROM turns WHERE job_id = ? AND number = ? AND lease_attempt = ?
      AND state = 'running' AND lease = ? AND runner GLOB ? || '/*'`;
    const lease = hashOfToken(token).toString("hex");
    const values = [jobId, Number(number ?? 0), Number(attempt ?? 0), lease, runnerId];
    return this.#tables.value(z.int(), sql, ...values) !== null;
  }

  /** The runner that had the job's newest turn that has ended, or null. */
  runnerBefore(jobId: string): string | null {
    const sql = `SELECT runner FROM turns WHERE job_id = ? AND runner IS NOT NULL AND state = 'ended'
      ORDER BY number DESC LIMIT 1`;
    return this.#tables.value(z.string(), sql, jobId);
  }

  /** Notes why the turn waits although there is room for it, unless it has ended. */
  hold({ jobId, number }: TurnKey, held: Held): void {
    // A turn that is still running lost its service, as `start` says.
    const sql = `UPDATE turns SET held = ?, attempts = attempts - (state = 'running' AND NOT agent_runs),
      agent_runs = 0, state = 'waiting'
      WHERE job_id = ? AND number = ? AND state <> 'ended'`;
    this.#tables.run(sql, JSON.stringify(z.encode(Held, held)), jobId, number);
  }

  /** Makes the turn wait to run again at once, without counting this attempt. */
  takeBack(key: TurnKey): void {
    this.#suspend(key, "attempts = attempts - 1, due_at = 0");
  }

  /**
   * Makes the turn wait to run again at once, because what ran it has died. That isn't an attempt
   * if another turn is to blame, and the agent wasn't started yet. With a runner elsewhere, nobody
   * knows whose fault it was, so this counts apart.
   */
  lose(key: TurnKey, by: RunnerLostError["by"], reason: string, isElsewhere: boolean): void {
    const change = `reason = ?, attempts = attempts - (? AND NOT agent_runs), deaths = deaths + ?,
      losses = losses + (? AND agent_runs), due_at = 0`;
    const [another, own] = [by === "another-turn", by === "this-turn"].map(Number);
    this.#suspend(key, change, reason, another ?? 0, own ?? 0, isElsewhere ? 1 : 0);
  }

  /** Makes the turn wait to run again after a failed attempt, at `dueAtMs` at the earliest. */
  postpone(key: TurnKey, reason: string, dueAtMs: number): void {
    this.#suspend(key, "reason = ?, due_at = ?", cut(reason, MAX_REASON_CHARS), Math.ceil(dueAtMs));
  }

  setReport(key: TurnKey, { progress, step, plan, usage }: TurnReport): void {
    const [lines = "", steps = "", used = ""] = [progress, plan, usage].map((part) => JSON.stringify(part));
    this.#note(key, "progress = ?, step = ?, plan = ?, usage = ?", lines, step, steps, used);
  }

  /**
   * Notes that the turn's agent is about to start, that the turn counts as a round, what its agent
   * was told, the branch with its work, and its commit, as far as they are reported.
   */
  note(key: TurnKey, { agentRuns, isRound, brief, branch, pushed }: NotedReport): void {
    if (agentRuns === true) this.#note(key, "agent_runs = 1");
    if (isRound === true) this.#note(key, "is_round = 1");
    if (brief !== undefined) this.#note(key, "brief = ?", brief);
    if (branch !== undefined) this.#note(key, "branch = ?", branch);
    if (pushed !== undefined) this.#note(key, "pushed = ?", pushed);
  }

  /**
   * What the newest turn's agent was told. Turns that had no agent don't count. Null if there was
   * none.
   */
  brief(jobId: string): string | null {
    const sql = `SELECT brief FROM turns WHERE job_id = ? AND brief IS NOT NULL ORDER BY number DESC
      LIMIT 1`;
    return this.#tables.value(z.string(), sql, jobId);
  }

  /**
   * Ends a turn. Returns false if it had already ended (was canceled, or its job archived). Then it
   * stays as it was.
   */
  end({ jobId, number }: TurnKey, result: RunTurnResult, nowMs: number): boolean {
    return this.#atOnce(() => {
      const { kind, summary, reason, cause, leftOut, quality } = storable(result);
      const sql = `UPDATE turns SET state = 'ended', ended_at = ?, outcome = ?, summary = ?, reason =
        ?, cause = ?, left_out = ?, quality = ?
        WHERE job_id = ? AND number = ? AND state <> 'ended'`;
      const said = [summary, reason, cause, JSON.stringify(leftOut), JSON.stringify(quality)];
      const changed = this.#tables.run(sql, nowMs, kind, ...said, jobId, number);
      // This also applies to a turn that was ended in the meantime, because its pull request and
      // branch exist.
      if (result.kind === "branch" || result.kind === "pull-request") {
        const [branch, pullRequest] =
          result.kind === "branch" ? [result.branch, null] : [null, result.pullRequest ?? null];
        const where = `UPDATE turns SET branch = ?, pull_request = ? WHERE job_id = ? AND number = ?`;
        this.#tables.run(where, branch, JSON.stringify(pullRequest), jobId, number);
      }
      if (result.kind === "pull-request") {
        this.#tables.run(`UPDATE jobs SET pr_link = ? WHERE id = ?`, result.prLink, jobId);
        this.followed.begin(jobId, result.prLink, result.pullRequest?.overlaps ?? [], nowMs);
      }
      this.questions.forget(jobId, number);
      if (changed === 1) this.#touch(jobId, nowMs);
      return changed === 1;
    });
  }

  /**
   * Cancels a turn that is waiting or running. Returns false if it had already ended, or doesn't
   * exist.
   */
  cancel({ jobId, number }: TurnKey, nowMs: number): boolean {
    return this.#atOnce(() => {
      const sql = `UPDATE turns SET state = 'ended', ended_at = ?, outcome = 'cancelled', reason = NULL
        WHERE job_id = ? AND number = ? AND state <> 'ended'`;
      if (this.#tables.run(sql, nowMs, jobId, number) === 0) return false;
      this.questions.forget(jobId, number);
      this.#touch(jobId, nowMs);
      return true;
    });
  }

  /**
   * Archives a job and ends its unfinished turns. Returns false if there is no such job, or it was
   * archived already.
   */
  archive(jobId: string, nowMs: number): boolean {
    return this.#atOnce(() => {
      if (this.#tables.run(ARCHIVE, nowMs, jobId) === 0) return false;
      const sql = `UPDATE turns SET state = 'ended', ended_at = ?, outcome = 'archived', reason = NULL
        WHERE job_id = ? AND state <> 'ended'`;
      this.#tables.run(sql, nowMs, jobId);
      this.questions.forget(jobId, null);
      return true;
    });
  }

  #atOnce<T>(work: () => T): T {
    return transaction(this.#tables.db, work);
  }

  /** A field of the newest pull request that a turn of the job left. */
  #ofPullRequest<Field>(schema: z.ZodType<Field>, field: "headSha" | "number", jobId: string): Field | null {
    const value = `json_extract(pull_request, '$.${field}')`;
    const sql = `SELECT ${value} FROM turns WHERE job_id = ? AND ${value} IS NOT NULL
      ORDER BY number DESC LIMIT 1`;
    return this.#tables.value(schema, sql, jobId);
  }

  #touch(jobId: string, nowMs: number): void {
    this.#tables.run(`UPDATE jobs SET active_at = ? WHERE id = ?`, nowMs, jobId);
  }

  /**
   * For notes that aren't worth a wait for the disk. They get there together with the next write,
   * and a power cut may lose them.
   */
  #note({ jobId, number }: TurnKey, change: string, ...values: (string | number | null)[]): void {
    const { db } = this.#tables;
    db.exec("PRAGMA synchronous = NORMAL");
    try {
      const sql = `UPDATE turns SET ${change} WHERE job_id = ? AND number = ?`;
      this.#tables.run(sql, ...values, jobId, number);
    } finally {
      db.exec("PRAGMA synchronous = FULL");
    }
  }

  #suspend({ jobId, number }: TurnKey, change: string, ...values: (string | number)[]): void {
    this.#atOnce(() => {
      const sql = `UPDATE turns SET state = 'waiting', ${change}, agent_runs = 0
        WHERE job_id = ? AND number = ? AND state = 'running'`;
      this.#tables.run(sql, ...values, jobId, number);
      this.questions.forget(jobId, number);
    });
  }
}

/** A result, cut to the limits of what is stored. */
function storable(result: RunTurnResult) {
  const told = { summary: null, reason: null, cause: null, leftOut: [], ...result };
  return {
    quality: TurnQuality.parse(result),
    kind: result.kind,
    summary: cutOrNull(told.summary, MAX_SUMMARY_CHARS),
    reason: cutOrNull(told.reason ?? null, MAX_REASON_CHARS),
    cause: told.cause ?? null,
    leftOut: told.leftOut?.slice(0, MAX_LEFT_OUT) ?? [],
  };
}
