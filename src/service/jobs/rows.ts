import { z } from "zod";
import { JobStatus, FailureCause, ReportedOutcome } from "../../core/job-service.ts";
import { WirePullRequest, WireQuestion, WireTurn, WireUsage } from "../../job-client/report-schema.ts";
import { WireJobRecord } from "../../job-client/schema.ts";
import type { KeptAttachment } from "../attachments/attachment-files.ts";
import type { StoredJob, StoredQuestion, StoredTurn } from "./job.ts";

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
    words: z.string().nullable(),
    accepted_at: z.int(),
    state: z.enum(["waiting", "running", "ended"]),
    attempts: z.int(),
    due_at: z.int(),
    started_at: z.int().nullable(),
    ended_at: z.int().nullable(),
    outcome: ReportedOutcome.nullable(),
    summary: z.string().nullable(),
    reason: z.string().nullable(),
    // A newer version may have written another one.
    cause: FailureCause.nullable().catch(null),
    left_out: json(z.array(z.string())),
    progress: json(z.array(z.string())),
    step: z.string().nullable(),
    plan: json(WireTurn.shape.plan),
    usage: json(WireUsage.nullable()),
    pull_request: json(WirePullRequest.nullable()),
    branch: z.string().nullable(),
    agent_runs: z.int(),
    deaths: z.int(),
  })
  .transform(
    ({
      job_id,
      accepted_at,
      due_at,
      started_at,
      ended_at,
      left_out,
      pull_request,
      agent_runs,
      ...row
    }): StoredTurn => ({
      ...row,
      pullRequest: pull_request,
      jobId: job_id,
      acceptedAt: accepted_at,
      dueAt: due_at,
      startedAt: started_at,
      endedAt: ended_at,
      leftOut: left_out,
      agentRuns: agent_runs === 1,
    }),
  );

export const EarlierTurnRow = z.object({
  prompt: z.string(),
  words: z.string().nullable(),
  summary: z.string().nullable(),
});

export const AttachmentRow = z
  .object({ id: z.string(), name: z.string(), media_type: z.string(), bytes: z.int() })
  .transform(({ media_type, ...row }): KeptAttachment => ({ ...row, mediaType: media_type }));

export const QuestionRow = z
  .object({
    id: z.string(),
    job_id: z.string(),
    turn: z.int(),
    text: z.string(),
    choices: json(WireQuestion.shape.choices),
    allows_text: z.int(),
    asked_at: z.int(),
    answered_at: z.int().nullable(),
    answer: json(z.union([z.object({ choice: z.string() }), z.object({ text: z.string() })]).nullable()),
  })
  .transform(({ job_id, allows_text, asked_at, answered_at, ...row }): StoredQuestion => ({
    ...row,
    jobId: job_id,
    allowsText: allows_text === 1,
    askedAt: asked_at,
    answeredAt: answered_at,
  }));

export const AnsweredRow = z.object({
  request: z.string(),
  answer: json(WireJobRecord),
  turn: z.int().nullable(),
});
export const CountRow = z.object({ count: z.int() });
export const NumberRow = z.object({ number: z.int() });
export const IdRow = z.object({ id: z.string() });
export const PlaceRow = z.object({ created_at: z.int(), id: z.string() });
export const AcceptedAtRow = z.object({ accepted_at: z.int() });
