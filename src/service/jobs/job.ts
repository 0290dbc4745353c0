import { z } from "zod";
import type { JobStatus } from "../../core/job.ts";
import type { WireJobRecord } from "../../job-client/schema.ts";

/** How a turn ended, as its row says it: as the runner reported it, or by the archiving of its job. */
export const TurnOutcome = z.enum(["pull-request", "no-changes", "failed", "archived"]);
export type TurnOutcome = z.infer<typeof TurnOutcome>;

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
  acceptedAt: number;
  state: "waiting" | "running" | "ended";
  attempts: number;
  /** When it may run, if it waits; 0: at once. */
  dueAt: number;
  startedAt: number | null;
  endedAt: number | null;
  outcome: TurnOutcome | null;
  summary: string | null;
  reason: string | null;
  leftOut: string[];
  progress: string[];
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
