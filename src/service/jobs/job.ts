import type {
  JobStatus,
  QuestionAnswer,
  FailureCause,
  PlanStep,
  ReportedOutcome,
  ReportedPullRequest,
  ReportedUsage,
} from "../../core/job-service.ts";
import type { WireJobRecord } from "../../job-client/schema.ts";
import type { AgentQuestion } from "../turn-runner.ts";

/** A job as it is stored. Times are epoch milliseconds. */
export type StoredJob = {
  id: string;
  projectId: string;
  repository: string;
  ref: string;
  model: string;
  prLink: string | null;
  createdAt: number;
  archivedAt: number | null;
  status: JobStatus;
};

/** A turn as it is stored. Times are epoch milliseconds. */
export type StoredTurn = {
  jobId: string;
  number: number;
  prompt: string;
  /** What of the prompt the person typed; null: it isn't known, or nothing. */
  words: string | null;
  acceptedAt: number;
  state: "waiting" | "running" | "ended";
  attempts: number;
  /** When it may run, if it waits; 0: at once. */
  dueAt: number;
  startedAt: number | null;
  endedAt: number | null;
  outcome: ReportedOutcome | null;
  summary: string | null;
  reason: string | null;
  cause: FailureCause | null;
  leftOut: string[];
  progress: string[];
  step: string | null;
  plan: PlanStep[];
  usage: ReportedUsage | null;
  pullRequest: ReportedPullRequest | null;
  /** Where the work is, from when it was pushed until there is a pull request. */
  branch: string | null;
  agentRuns: boolean;
  /** How often the service or its runner ended while the agent ran. */
  deaths: number;
};

/** A question as it is stored, while its turn runs. Times are epoch milliseconds. */
export type StoredQuestion = AgentQuestion & {
  id: string;
  jobId: string;
  turn: number;
  askedAt: number;
  answeredAt: number | null;
  answer: QuestionAnswer | null;
};

/** The job as it goes over the wire. */
export function toRecord(job: StoredJob): WireJobRecord {
  return {
    id: job.id,
    status: job.status,
    source: { repository: job.repository, ref: job.ref },
    model: job.model,
    prLink: job.prLink,
    createdAt: toTimestamp(job.createdAt),
    archivedAt: job.archivedAt === null ? null : toTimestamp(job.archivedAt),
  };
}

/** Epoch milliseconds as `YYYY-MM-DDThh:mm:ssZ`. */
export function toTimestamp(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}
