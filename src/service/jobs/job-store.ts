import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { JobStatus } from "../../core/job.ts";
import { cut } from "../../core/text.ts";
import { transaction } from "../../store/sqlite-database.ts";
import { type Acceptance, Acceptances, type TurnKey, type TurnRequest } from "./acceptance.ts";
import type { RunTurnResult } from "../turn-runner.ts";
import type { StoredJob, StoredTurn } from "./job.ts";
import { jobSql } from "./job-sql.ts";
import { IdRow, JobRow, TurnRow } from "./rows.ts";

const MAX_SUMMARY_CHARS = 16_000;
const MAX_REASON_CHARS = 2_000;
const MAX_LEFT_OUT = 200;

/**
 * Jobs and their turns in the service's SQLite file. Each method is synchronous and one transaction, and each write says in
 * its condition what it rests on: other processes (the command line) write to the same rows.
 */
export class JobStore {
  readonly #db: DatabaseSync;
  readonly #sql: Record<keyof typeof jobSql, StatementSync>;
  readonly #acceptances: Acceptances;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = prepareAll(db);
    this.#acceptances = new Acceptances(db, this.#sql);
  }

  /** Accepts or refuses a create or a message. When this returns `accepted`, the turn survives a crash and a power cut. */
  accept(request: TurnRequest, nowMs: number): Acceptance {
    return this.#acceptances.accept(request, nowMs);
  }

  job(id: string): StoredJob | null {
    const row = this.#sql.job.get(id);
    return row === undefined ? null : JobRow.parse(row);
  }

  /** The newest first. */
  jobs(filter: { projectId: string | null; status: JobStatus | null; limit: number }): StoredJob[] {
    return z.array(JobRow).parse(this.#sql.jobs.all(filter.projectId, filter.status, filter.limit));
  }

  /** The oldest first. */
  turns(jobId: string): StoredTurn[] {
    return z.array(TurnRow).parse(this.#sql.turns.all(jobId));
  }

  turn({ jobId, number }: TurnKey): StoredTurn | null {
    const row = this.#sql.turn.get(jobId, number);
    return row === undefined ? null : TurnRow.parse(row);
  }

  /** The jobs with a turn that has not ended, the one that has waited longest first. */
  unfinishedJobs(): string[] {
    const ids = z.array(IdRow).parse(this.#sql.unfinishedJobs.all());
    return ids.map(({ id }) => id);
  }

  /** The job's first turn that has not ended. */
  oldestUnfinished(jobId: string): StoredTurn | null {
    const row = this.#sql.oldestUnfinished.get(jobId);
    return row === undefined ? null : TurnRow.parse(row);
  }

  /** Notes that the runner is about to be started, one attempt more. False: the turn has ended. */
  start({ jobId, number }: TurnKey, nowMs: number): boolean {
    return this.#sql.startTurn.run(nowMs, jobId, number).changes === 1;
  }

  /** The turn waits to run again, at once: what was tried does not count as an attempt. */
  takeBack({ jobId, number }: TurnKey): void {
    this.#sql.suspendTurn.run(1, null, 0, jobId, number);
  }

  /** The turn waits to run again, no sooner than at `dueAtMs`: an attempt failed. */
  postpone({ jobId, number }: TurnKey, reason: string, dueAtMs: number): void {
    this.#sql.suspendTurn.run(0, cut(reason, MAX_REASON_CHARS), Math.ceil(dueAtMs), jobId, number);
  }

  setProgress({ jobId, number }: TurnKey, lines: readonly string[]): void {
    this.#sql.setProgress.run(JSON.stringify(lines), jobId, number);
  }

  /** Ends a turn. False: it had ended already (the job was archived), and stays as it was. */
  end({ jobId, number }: TurnKey, result: RunTurnResult, nowMs: number): boolean {
    return transaction(this.#db, () => {
      const said = result.kind === "failed" ? null : result.summary;
      const summary = said === null ? null : cut(said, MAX_SUMMARY_CHARS);
      const reason = result.kind === "failed" ? cut(result.reason, MAX_REASON_CHARS) : null;
      const leftOut = result.kind === "pull-request" ? result.leftOut.slice(0, MAX_LEFT_OUT) : [];
      const written = JSON.stringify(leftOut);
      const { changes } = this.#sql.endTurn.run(nowMs, result.kind, summary, reason, written, jobId, number);
      // Also of a job that was archived meanwhile: the pull request is there.
      if (result.kind === "pull-request") this.#sql.setPrLink.run(result.prLink, jobId);
      if (changes === 1) this.#sql.touchJob.run(nowMs, jobId);
      return changes === 1;
    });
  }

  /** Archives a job and ends its unfinished turns. False: there is no such job, or it was archived before. */
  archive(jobId: string, nowMs: number): boolean {
    return transaction(this.#db, () => {
      if (this.#sql.archiveJob.run(nowMs, jobId).changes === 0) return false;
      this.#sql.archiveTurns.run(nowMs, jobId);
      return true;
    });
  }

  /** Archives at most `limit` jobs of a project that nothing happened to since `sinceMs`. Returns their ids. */
  archiveInactive(projectId: string, sinceMs: number, limit: number, nowMs: number): string[] {
    return transaction(this.#db, () => {
      const ids = z.array(IdRow).parse(this.#sql.inactive.all(projectId, sinceMs, limit));
      for (const { id } of ids) this.#sql.archiveJob.run(nowMs, id);
      return ids.map(({ id }) => id);
    });
  }

  /** Forgets at most `limit` jobs of a project that were archived by `beforeMs`, with all their turns. Returns how many. */
  forgetArchived(projectId: string, beforeMs: number, limit: number): number {
    return transaction(this.#db, () => {
      const ids = z.array(IdRow).parse(this.#sql.forgettable.all(projectId, beforeMs, limit));
      for (const { id } of ids) {
        this.#sql.forgetTurns.run(id);
        this.#sql.forgetJob.run(id);
      }
      return ids.length;
    });
  }

  /** The projects that have jobs, also those that are no longer in the settings. */
  projectIds(): string[] {
    return z
      .array(IdRow)
      .parse(this.#sql.projectIds.all())
      .map(({ id }) => id);
  }

  /** Forgets what was answered under idempotency keys by `beforeMs`. */
  forgetAnswered(beforeMs: number): void {
    this.#sql.forgetAnswered.run(beforeMs);
  }
}

function prepareAll(db: DatabaseSync): Record<keyof typeof jobSql, StatementSync> {
  const prepare = (name: keyof typeof jobSql) => db.prepare(jobSql[name]);
  return {
    addJob: prepare("addJob"),
    addTurn: prepare("addTurn"),
    touchJob: prepare("touchJob"),
    job: prepare("job"),
    jobs: prepare("jobs"),
    turns: prepare("turns"),
    turn: prepare("turn"),
    unfinishedJobs: prepare("unfinishedJobs"),
    oldestUnfinished: prepare("oldestUnfinished"),
    countUnfinished: prepare("countUnfinished"),
    blockingCreate: prepare("blockingCreate"),
    blockingMessage: prepare("blockingMessage"),
    answered: prepare("answered"),
    addAnswered: prepare("addAnswered"),
    forgetAnswered: prepare("forgetAnswered"),
    startTurn: prepare("startTurn"),
    suspendTurn: prepare("suspendTurn"),
    setProgress: prepare("setProgress"),
    endTurn: prepare("endTurn"),
    setPrLink: prepare("setPrLink"),
    archiveJob: prepare("archiveJob"),
    archiveTurns: prepare("archiveTurns"),
    inactive: prepare("inactive"),
    forgettable: prepare("forgettable"),
    forgetTurns: prepare("forgetTurns"),
    forgetJob: prepare("forgetJob"),
    projectIds: prepare("projectIds"),
  };
}
