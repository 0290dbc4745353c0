import { z } from "zod";
import { JobQuestion, QuestionAnswer } from "../../shared/contract/question.ts";
import { FailureCause, Held, JobTurn, TurnKind, TurnOutcome } from "../../shared/contract/turn.ts";
import { lenient } from "../../shared/contract/lenient.ts";
import { FollowedPullRequest, LeftPullRequest } from "../../shared/contract/pull-request.ts";
import { json } from "../base/json.ts";
import type { ServiceProject } from "../config/config.ts";
import { TurnQuality } from "../runner/runner.ts";
import { OVERLAPS } from "./overlap-store.ts";
import { columnsOf } from "./tables.ts";
import { Authors, Requester } from "../../shared/contract/request.ts";
import { JobStatus } from "../../shared/contract/job.ts";

const Flag = z.int().transform((value) => value === 1);

/** A job as it is stored. Times are epoch milliseconds. */
export const JobRow = z.object({
  id: z.string(),
  projectId: z.string(),
  repository: z.string(),
  ref: z.string(),
  /** What its branch begins with, whatever the settings say by now. */
  branchPrefix: z.string(),
  model: z.string(),
  prLink: z.string().nullable(),
  createdAt: z.int(),
  archivedAt: z.int().nullable(),
  /** As it was last seen at the code host. */
  pullRequest: json(lenient(FollowedPullRequest.nullable())),
  status: JobStatus,
  /** How often the agent has answered reviews and failed checks of its pull request. */
  rounds: z.int(),
  /** The pages of other open pull requests that change the same lines as its own. */
  overlaps: json(z.array(z.string())),
});
export type JobRow = z.infer<typeof JobRow>;

/** Identifies a turn. */
export type TurnKey = { jobId: string; number: number };

/** A turn as it is stored. Times are epoch milliseconds. */
export const TurnRow = z.object({
  jobId: z.string(),
  number: z.int(),
  kind: TurnKind,
  /** True if the project's settings asked for it, and nobody else. */
  isUnasked: Flag,
  prompt: z.string(),
  /** The part of the prompt that the person typed. Null if it is empty or unknown. */
  words: z.string().nullable(),
  requester: json(lenient(Requester.nullable())),
  authors: json(lenient(Authors.nullable())),
  acceptedAt: z.int(),
  state: z.enum(["waiting", "running", "ended"]),
  /** How often it was started, without the runs that didn't count. */
  attempts: z.int(),
  /** When a waiting turn may run. 0 means at once. */
  dueAt: z.int(),
  /** What it waits for beside room. It counts only while the turn waits. */
  held: json(lenient(Held.nullable())),
  startedAt: z.int().nullable(),
  endedAt: z.int().nullable(),
  outcome: TurnOutcome.nullable(),
  summary: z.string().nullable(),
  reason: z.string().nullable(),
  cause: FailureCause.nullable(),
  leftOut: json(z.array(z.string())),
  quality: json(TurnQuality),
  progress: json(z.array(z.string())),
  step: z.string().nullable(),
  plan: json(lenient(JobTurn.shape.plan)),
  usage: json(JobTurn.shape.usage),
  pullRequest: json(lenient(LeftPullRequest.nullable())),
  /** The branch with the work, from its push until there is a pull request. */
  branch: z.string().nullable(),
  /** True once the agent was started in the current run. */
  agentRuns: Flag,
  /** How often the turn's own code hung or crashed the runner. */
  deaths: z.int(),
  /** The runner that has it, or had it last: `own`, or that of a machine elsewhere. */
  runner: z.string().nullable(),
  /** SHA-256 of the token of the newest lease, hexadecimal. */
  lease: z.string().nullable(),
  /** How many leases there were. */
  leaseAttempt: z.int(),
  /** What attempts before the newest lease had used. */
  leaseUsed: json(JobTurn.shape.usage),
  /** How often a runner elsewhere was lost while the agent ran. */
  losses: z.int(),
});
export type TurnRow = z.infer<typeof TurnRow>;

/** A question as it is stored while its turn runs. Times are epoch milliseconds. */
export const QuestionRow = z.object({
  id: z.string(),
  jobId: z.string(),
  turn: z.int(),
  text: z.string(),
  choices: json(lenient(JobQuestion.shape.choices)),
  allowsText: Flag,
  askedAt: z.int(),
  answeredAt: z.int().nullable(),
  answer: json(lenient(QuestionAnswer.nullable())),
});
export type QuestionRow = z.infer<typeof QuestionRow>;

/**
 * A job's status is derived from its rows, so that they can't disagree: archived if it was
 * archived, active while a turn is unfinished, and otherwise the result of its last turn.
 */
const STATUS = `CASE
    WHEN archived_at IS NOT NULL THEN 'archived'
    WHEN EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended') THEN 'active'
    WHEN (SELECT outcome FROM turns WHERE job_id = jobs.id ORDER BY number DESC LIMIT 1) IN ('failed',
      'cancelled') THEN 'failed'
    ELSE 'completed'
  END`;
/** A pull request has its own rounds: those since the turn that left it first. */
const ROUNDS = `(SELECT count(*) FROM turns WHERE job_id = jobs.id AND is_round = 1 AND number > coalesce(
    (SELECT min(number) FROM turns WHERE job_id = jobs.id AND pull_request ->> '$.url' = jobs.pr_link), 0))`;
/** Selects {@link JobRow}s. */
export const SELECT_JOB = `SELECT ${columnsOf(JobRow.omit({ status: true, rounds: true, overlaps: true }))},
  ${STATUS} AS status, ${ROUNDS} AS rounds, ${OVERLAPS} AS overlaps
  FROM jobs`;
/** Selects {@link TurnRow}s. */
export const SELECT_TURN = `SELECT ${columnsOf(TurnRow)} FROM turns`;
/** Selects {@link QuestionRow}s. */
export const SELECT_QUESTION = `SELECT ${columnsOf(QuestionRow)} FROM questions`;

/** The project as it is for a job, which keeps the branch that it began with. */
export function projectOfJob(project: ServiceProject, { branchPrefix }: Pick<JobRow, "branchPrefix">) {
  return { ...project, pullRequests: { ...project.pullRequests, branchPrefix } };
}
