import { z } from "zod";
import { JobStatus } from "../../core/job.ts";
import { WireJobRecord } from "../../job-client/schema.ts";
import { TurnOutcome, type StoredJob, type StoredTurn } from "./job.ts";

function json<T>(schema: z.ZodType<T>) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue("not JSON");
        return z.NEVER;
      }
    })
    .pipe(schema);
}

export const JobRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    repository: z.string(),
    ref: z.string(),
    model: z.string(),
    pr_link: z.string().nullable(),
    created_at: z.int(),
    archived_at: z.int().nullable(),
    status: JobStatus,
  })
  .transform(({ project_id, pr_link, created_at, archived_at, ...row }): StoredJob => ({
    ...row,
    projectId: project_id,
    prLink: pr_link,
    createdAt: created_at,
    archivedAt: archived_at,
  }));

export const TurnRow = z
  .object({
    job_id: z.string(),
    number: z.int(),
    prompt: z.string(),
    accepted_at: z.int(),
    state: z.enum(["waiting", "running", "ended"]),
    attempts: z.int(),
    due_at: z.int(),
    started_at: z.int().nullable(),
    ended_at: z.int().nullable(),
    outcome: TurnOutcome.nullable(),
    summary: z.string().nullable(),
    reason: z.string().nullable(),
    left_out: json(z.array(z.string())),
    progress: json(z.array(z.string())),
  })
  .transform(({ job_id, accepted_at, due_at, started_at, ended_at, left_out, ...row }): StoredTurn => ({
    ...row,
    jobId: job_id,
    acceptedAt: accepted_at,
    dueAt: due_at,
    startedAt: started_at,
    endedAt: ended_at,
    leftOut: left_out,
  }));

export const AnsweredRow = z.object({ request: z.string(), status: z.int(), answer: json(WireJobRecord) });
export const CountRow = z.object({ count: z.int() });
export const NumberRow = z.object({ number: z.int() });
export const IdRow = z.object({ id: z.string() });
export const AcceptedAtRow = z.object({ accepted_at: z.int() });
