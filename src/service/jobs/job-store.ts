import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { PlanStep, ReportedUsage, JobStatus } from "../../core/job-service.ts";
import { cut } from "../../core/text.ts";
import { MAX_SHOWN_TURNS } from "../../job-client/report-schema.ts";
import { transaction } from "../../store/sqlite-database.ts";
import type { KeptAttachment } from "../attachments/attachment-files.ts";
import type { EarlierTurn, RunTurnResult } from "../turn-runner.ts";
import { type Acceptance, Acceptances, type TurnKey, type TurnRequest } from "./acceptance.ts";
import type { StoredJob, StoredTurn } from "./job.ts";
import type { ListPlace } from "./list-cursor.ts";
import { QuestionStore } from "./question-store.ts";
import { AttachmentRow, EarlierTurnRow, IdRow, JobRow, PlaceRow, TurnRow } from "./rows.ts";
import { type JobStatements, prepareJobStatements } from "./statements.ts";

const MAX_SUMMARY_CHARS = 16_000;
const MAX_REASON_CHARS = 2_000;
const MAX_LEFT_OUT = 200;
/** An agent is told what fits into 40,000 characters. */
const MAX_EARLIER_TURNS = 100;
const MAX_EARLIER_CHARS = 10_000;

/** What the runner reported of a turn so far. */
export type TurnReport = {
  progress: readonly string[];
  step: string | null;
  plan: readonly PlanStep[];
  usage: ReportedUsage | null;
};

/** A page of a list, and where the next one begins; null: there is none. */
export type JobPage = { jobs: StoredJob[]; next: ListPlace | null };

/**
 * Jobs and their turns in the service's SQLite file. Each method is synchronous and, but for `accept`, one transaction, and each write says in
 * its condition what it rests on: others write to the same rows.
 */
export class JobStore {
  readonly #db: DatabaseSync;
  readonly #sql: JobStatements;
  readonly #acceptances: Acceptances;
  readonly questions: QuestionStore;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = prepareJobStatements(db);
    this.#acceptances = new Acceptances(this.#sql);
    this.questions = new QuestionStore(this.#sql);
  }

  /** Inside of the caller's transaction: accepts or refuses a create or a message. */
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

  /** A project's jobs after a place, the newest first, at most `limit`. A page may be short, and even empty, before the last one. */
  page(projectId: string, after: ListPlace, status: JobStatus | null, limit: number): JobPage {
    const { createdAt, id } = after;
    const jobs = z.array(JobRow).parse(this.#sql.page.all(projectId, createdAt, id, status, limit));
    const last = jobs.at(-1);
    if (jobs.length === limit && last !== undefined) return { jobs, next: last };
    const row = this.#sql.lastScanned.get(projectId, createdAt, id);
    if (row === undefined) return { jobs, next: null };
    const scanned = PlaceRow.parse(row);
    return { jobs, next: { createdAt: scanned.created_at, id: scanned.id } };
  }

  /** The oldest first. */
  turns(jobId: string): StoredTurn[] {
    return z.array(TurnRow).parse(this.#sql.turns.all(jobId));
  }

  /** The newest turns up to one, as many as a record shows, the oldest first. */
  shownTurns(jobId: string, upTo = Number.MAX_SAFE_INTEGER): StoredTurn[] {
    const rows = this.#sql.newestTurns.all(jobId, upTo, MAX_SHOWN_TURNS);
    return z.array(TurnRow).parse(rows).toReversed();
  }

  /** What the turns right before a turn were asked and did, bounded, the oldest first. */
  earlierTurns({ jobId, number }: TurnKey): EarlierTurn[] {
    const rows = this.#sql.earlierTurns.all(MAX_EARLIER_CHARS, jobId, number, MAX_EARLIER_TURNS);
    return z.array(EarlierTurnRow).parse(rows).toReversed();
  }

  turn({ jobId, number }: TurnKey): StoredTurn | null {
    const row = this.#sql.turn.get(jobId, number);
    return row === undefined ? null : TurnRow.parse(row);
  }

  /** What came with a turn's prompt, in order. Its files are there until the turn has ended. */
  attachments({ jobId, number }: TurnKey): KeptAttachment[] {
    return z.array(AttachmentRow).parse(this.#sql.attachments.all(jobId, number));
  }

  /** The ids of the attachments of turns that have not ended. */
  neededAttachments(): Set<string> {
    const ids = z.array(IdRow).parse(this.#sql.neededAttachments.all());
    return new Set(ids.map(({ id }) => id));
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
    const isStarted = transaction(this.#db, () => {
      // What an earlier attempt asked, nobody waits for any more.
      this.#sql.forgetQuestions.run(jobId, number);
      return this.#sql.startTurn.run(nowMs, jobId, number).changes === 1;
    });
    return isStarted;
  }

  /** The turn waits to run again, at once: what was tried does not count as an attempt. */
  takeBack(key: TurnKey): void {
    this.#suspend(key, { attemptsTakenBack: 1, reason: null, dueAtMs: 0 });
  }

  /** The turn waits to run again, at once: what ran it has died. */
  lose({ jobId, number }: TurnKey): void {
    transaction(this.#db, () => {
      this.#sql.loseTurn.run(jobId, number);
      this.#sql.forgetQuestions.run(jobId, number);
    });
  }

  /** The turn waits to run again, no sooner than at `dueAtMs`: an attempt failed. */
  postpone(key: TurnKey, reason: string, dueAtMs: number): void {
    this.#suspend(key, { attemptsTakenBack: 0, reason: cut(reason, MAX_REASON_CHARS), dueAtMs });
  }

  setReport({ jobId, number }: TurnKey, { progress, step, plan, usage }: TurnReport): void {
    const [lines, steps, used] = [progress, plan, usage].map((part) => JSON.stringify(part));
    this.#withoutSync(() =>
      this.#sql.setReport.run(lines ?? "", step, steps ?? "", used ?? "", jobId, number),
    );
  }

  /** Notes whether the turn's agent runs: what ends the service then may be its doing. */
  setAgentRuns({ jobId, number }: TurnKey, agentRuns: boolean): void {
    this.#withoutSync(() => this.#sql.setAgentRuns.run(agentRuns ? 1 : 0, jobId, number));
  }

  /** Notes the branch that has the turn's work. */
  setBranch({ jobId, number }: TurnKey, branch: string): void {
    this.#withoutSync(() => this.#sql.setBranch.run(branch, jobId, number));
  }

  /** Ends a turn. False: it had ended already (canceled, or its job archived), and stays as it was. */
  end({ jobId, number }: TurnKey, result: RunTurnResult, nowMs: number): boolean {
    return transaction(this.#db, () => {
      const { kind, summary, reason, cause, leftOut } = storable(result);
      const written = JSON.stringify(leftOut);
      const { changes } = this.#sql.endTurn.run(nowMs, kind, summary, reason, cause, written, jobId, number);
      // Also of one that was ended meanwhile: the pull request is there, and so is the branch.
      if (result.kind === "branch") this.#sql.setBranch.run(result.branch, jobId, number);
      if (result.kind === "pull-request") {
        this.#sql.setPrLink.run(result.prLink, jobId);
        this.#sql.setPullRequest.run(JSON.stringify(result.pullRequest ?? null), jobId, number);
        this.#sql.setBranch.run(null, jobId, number);
      }
      this.#sql.forgetQuestions.run(jobId, number);
      if (changes === 1) this.#sql.touchJob.run(nowMs, jobId);
      return changes === 1;
    });
  }

  /** Ends a turn that waits or runs as canceled. False: it had ended already, or there is none. */
  cancel({ jobId, number }: TurnKey, nowMs: number): boolean {
    return transaction(this.#db, () => {
      if (this.#sql.cancelTurn.run(nowMs, jobId, number).changes === 0) return false;
      this.#sql.forgetQuestions.run(jobId, number);
      this.#sql.touchJob.run(nowMs, jobId);
      return true;
    });
  }

  /** Archives a job and ends its unfinished turns. False: there is no such job, or it was archived before. */
  archive(jobId: string, nowMs: number): boolean {
    return transaction(this.#db, () => {
      if (this.#sql.archiveJob.run(nowMs, jobId).changes === 0) return false;
      this.#sql.archiveTurns.run(nowMs, jobId);
      this.#sql.forgetJobsQuestions.run(jobId);
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
        this.#sql.forgetJobsQuestions.run(id);
        this.#sql.forgetAttachments.run(id);
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

  /** For what isn't worth a wait for the disk, which brings it along with whatever is written next. A power cut may lose it. */
  #withoutSync(write: () => void): void {
    this.#db.exec("PRAGMA synchronous = NORMAL");
    try {
      write();
    } finally {
      this.#db.exec("PRAGMA synchronous = FULL");
    }
  }

  #suspend(
    { jobId, number }: TurnKey,
    {
      attemptsTakenBack,
      reason,
      dueAtMs,
    }: { attemptsTakenBack: number; reason: string | null; dueAtMs: number },
  ): void {
    transaction(this.#db, () => {
      this.#sql.suspendTurn.run(attemptsTakenBack, reason, Math.ceil(dueAtMs), jobId, number);
      this.#sql.forgetQuestions.run(jobId, number);
    });
  }
}

/** A result within the limits of what is kept. */
function storable(result: RunTurnResult) {
  const summary = result.kind === "failed" ? null : result.summary;
  const reason = result.kind === "failed" || result.kind === "no-changes" ? (result.reason ?? null) : null;
  const leftOut = result.kind === "failed" ? [] : (result.leftOut ?? []);
  return {
    kind: result.kind,
    summary: summary === null ? null : cut(summary, MAX_SUMMARY_CHARS),
    reason: reason === null ? null : cut(reason, MAX_REASON_CHARS),
    cause: result.kind === "failed" ? (result.cause ?? null) : null,
    leftOut: leftOut.slice(0, MAX_LEFT_OUT),
  };
}
