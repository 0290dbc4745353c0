import { z } from "zod";
import type { Attachment } from "../job/attachment.ts";
import type { ProjectRef } from "../job/project.ts";
import { storedObject } from "./stored-object.ts";

/**
 * What a job service may offer beyond the contract. `idempotency-key`: it answers a repeated
 * request with the same `Idempotency-Key` without running it again.
 */
export const Capability = z.enum([
  "idempotency-key",
  "turns",
  "list",
  "cancel",
  "archive",
  "questions",
  "attachments",
  "requester",
]);
export type Capability = z.infer<typeof Capability>;

/**
 * How a turn ended, in the job service's words. `branch`: the changes are on a branch, and there is
 * no code host to ask.
 */
export const ReportedOutcome = z.enum([
  "pull-request",
  "branch",
  "no-changes",
  "failed",
  "cancelled",
  "archived",
]);
export type ReportedOutcome = z.infer<typeof ReportedOutcome>;

/** Why a turn failed, where whoever asked can do something about it. */
export const FailureCause = z.enum(["time-limit", "budget"]);
export type FailureCause = z.infer<typeof FailureCause>;

/** One step of the agent's plan. */
export type PlanStep = { text: string; status: "pending" | "in-progress" | "completed" };

/**
 * What the models used, all calls of the turn together. The counts are null where only the agent's
 * own word for its cost is known, `costUsd` where no price is.
 */
export type ReportedUsage = {
  inputTokens: number | null;
  outputTokens: number | null;
  /** Those of `inputTokens` that came from a cache. */
  cachedInputTokens: number | null;
  calls: number | null;
  costUsd: number | null;
};

/**
 * How one of the project's checks went: `failed` has what is new against the base, a line each;
 * `not-checked` couldn't run, and says nothing about the change.
 */
export type ReportedCheck = {
  name: string;
  result: "passed" | "failed" | "not-checked";
  findings: string[];
};

/** How many statements the agent gave sources for, and how many of these sources were found. */
export type ReportedClaims = { total: number; verified: number };

/** A pull request when the turn left it. What the code host did not tell is null. */
export type ReportedPullRequest = {
  url: string;
  number: number;
  title: string;
  state: "open" | "closed" | "merged";
  files: number | null;
  additions: number | null;
  deletions: number | null;
  headRef: string;
  headSha: string;
  /** Absent: the code host didn't tell. */
  isDraft?: boolean | undefined;
};

/**
 * A turn as the job service tells it: untrusted text, bounded. Times are epoch milliseconds; what
 * is not known is null.
 */
export type ReportedTurn = {
  /** 1 is the create, the others are messages, in order. */
  number: number;
  status: "waiting" | "running" | "ended";
  outcome: ReportedOutcome | null;
  /** Why the turn ended like this, or why its last attempt broke off. */
  reason: string | null;
  /** Absent: another one, or it is not told. */
  cause?: FailureCause | undefined;
  /** The agent's own last words. */
  summary: string | null;
  /** What the agent did last. */
  step: string | null;
  plan: PlanStep[];
  usage: ReportedUsage | null;
  pullRequest: ReportedPullRequest | null;
  /** Where the changes are when there is no code host. */
  branch: string | null;
  acceptedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Files that the agent changed and that are not this project's documentation. */
  leftOut: string[];
  /** What the agent answered where it changed nothing. */
  answer: string | null;
  checks: ReportedCheck[];
  claims: ReportedClaims | null;
  /** Which commits of the context repositories the agent could read. */
  context: { name: string; commit: string }[];
  /** What else people should know of the turn: a sentence each. */
  notes: string[];
};

/** Something that the agent asks a person, open until it is answered or its turn ends. */
export type ReportedQuestion = {
  id: string;
  /** The number of the turn that asks. */
  turn: number;
  text: string;
  choices: { id: string; label: string }[];
  /** Whether words of one's own are an answer. */
  allowsText: boolean;
  askedAt: number | null;
  answeredAt: number | null;
};

/** What a job service tells of a job beyond the contract. Null: it does not say. */
export type JobReport = {
  /**
   * Oldest first; of a long job only the newest. After a create or a message, the last one is the
   * turn that it began.
   */
  turns: ReportedTurn[] | null;
  /** Those of turns that have not ended. */
  questions: ReportedQuestion[] | null;
};

/** Where a job stands, in the job service's own words (`docs/job-service.md`). */
export const JobStatus = z.enum(["active", "completed", "archived", "failed"]);
export type JobStatus = z.infer<typeof JobStatus>;

/**
 * What the job service says of one job. `prLink` is whatever it sent: untrusted until `replies/`
 * has looked at it.
 */
export const Job = storedObject({
  id: z.string().min(1),
  status: JobStatus,
  repository: z.string().nullable(),
  ref: z.string().nullable(),
  model: z.string().nullable(),
  prLink: z.string().nullable(),
});
export type Job = z.infer<typeof Job>;

/**
 * Meaning of a call to the job service that did not succeed, for the turn.
 *
 * - `not-created`: it certainly had no effect (refused connection, DNS, a 429 or 503 of the
 *   service's own; for a create or a message also a redirect or a 404 by something in front of the
 *   service); worth repeating later.
 * - `unknown`: it may have had an effect (timeout, reset, 500, 502, 504, a gateway's 429 or 503, a
 *   2xx that can't be read); a create or a message must not be repeated unless the service honors
 *   idempotency keys, a get may. For a get it is also every answer that isn't recognizably the
 *   service's own: such an answer says nothing about the job.
 * - `rejected`: the service understood and refused (400, 401, 403, 413, …); repeating changes
 *   nothing.
 * - `missing`: the service's own 404: no such project, or no such job.
 * - `contract`: it answered 2xx with a record that breaks the contract (no `id`, unknown `status`,
 *   another job's `id`).
 */
export type JobServiceFault = {
  kind: "not-created" | "unknown" | "rejected" | "missing" | "contract";
  /** HTTP status, where there was an answer. */
  status?: number;
  /** What `Retry-After` asked for, in milliseconds. */
  retryAfterMs?: number;
  /**
   * The service's own `error` text: untrusted, bounded, and not for the log (it may quote a
   * prompt).
   */
  said?: string;
  /** For the log: what failed, with what. Holds no secret, and nothing of what the service said. */
  message: string;
};

/**
 * `honorsIdempotencyKeys`: this answer announced it, or the project's settings say so.
 * `capabilities`: what this answer announced; one that announces nothing may come from something in
 * front of the service. `report`: what it tells beyond the contract.
 */
export type JobServiceAnswer = { honorsIdempotencyKeys: boolean; capabilities?: readonly Capability[] } & (
  | { ok: true; job: Job; report?: JobReport }
  | { ok: false; fault: JobServiceFault }
);

/** A fault as it goes to the log: without what the service said, which may quote people. */
export function faultForLog(fault: JobServiceFault): Omit<JobServiceFault, "said"> {
  const { said: _, ...logged } = fault;
  return logged;
}

/**
 * How the last call to a project's job service went, as far as this process made one. `isUp`: it
 * takes requests. `since`: the first call of which that is true, without one in between of which it
 * isn't; `at`: the last one. Epoch milliseconds.
 */
export type Contact = { project: ProjectRef; isUp: boolean; since: number; at: number };

/** How the job services of the configured projects were last found. */
export interface Contacts {
  /** Those that were called since this process started. */
  last(): Contact[];
}

/** Whether an answer shows a service that takes requests, whatever it makes of this one. */
export function isFromServiceThatIsUp(answer: JobServiceAnswer): boolean {
  return answer.ok || !["not-created", "unknown"].includes(answer.fault.kind);
}

/** The job services of the projects that are configured. */
export interface JobServices {
  /**
   * `service`: where it is now, which may be another address than the project's. Undefined: it is
   * not configured any more.
   */
  of(project: ProjectRef): { service: string; jobService: JobService } | undefined;
}

/**
 * The configured project that is meant: by service and id. Where the service has moved to another
 * address, the only project with that id is the one.
 */
export function configuredProject<T extends Pick<ProjectRef, "service" | "id">>(
  configured: readonly T[],
  wanted: Pick<ProjectRef, "service" | "id">,
): T | undefined {
  const named = configured.filter(({ id }) => id === wanted.id);
  return (
    named.find(({ service }) => service === wanted.service) ?? (named.length === 1 ? named[0] : undefined)
  );
}

/**
 * What a person answers: one of the choices by its id, or words of their own where the question
 * allows it.
 */
export type QuestionAnswer = { choice: string } | { text: string };

/**
 * Who asked for a turn, for a service that announces `requester`. `link`: to the message that
 * asked, or to its thread; null: there is none yet. `isPrivate`: not everybody in the workspace can
 * read that place, or Slack doesn't say.
 */
export const Requester = storedObject({
  name: z.string(),
  link: z.string().nullable(),
  isPrivate: z.boolean(),
});
export type Requester = z.infer<typeof Requester>;

/**
 * What goes along with a prompt, each part only where it is offered. `words`: what of the prompt
 * the person typed.
 */
export type Besides = { attachments?: readonly Attachment[]; words?: string; requester?: Requester };

/**
 * A project's job service. No method throws for anything the service or the network does: faults
 * are answers.
 */
export interface JobService {
  /**
   * Whether the settings say that it honors idempotency keys, which its answers may announce as
   * well.
   */
  readonly honorsIdempotencyKeys?: boolean;
  /**
   * Creates a job. Sends `idempotencyKey` along: only a service that honors such keys (see {@link
   * JobServiceAnswer}) can be given the same create again without a second job.
   */
  createJob(prompt: string, idempotencyKey: string, besides?: Besides): Promise<JobServiceAnswer>;
  /** Reads a job. Safe to repeat. */
  getJob(jobId: string): Promise<JobServiceAnswer>;
  /** Gives a job a follow-up prompt. Same delivery semantics as {@link createJob}. */
  sendMessage(
    jobId: string,
    prompt: string,
    idempotencyKey: string,
    besides?: Besides,
  ): Promise<JobServiceAnswer>;
  /**
   * Ends a turn that waits or runs, without a result. Only where `cancel` is offered. Safe to
   * repeat.
   */
  cancelTurn(jobId: string, turn: number): Promise<JobServiceAnswer>;
  /**
   * Answers a question of the agent's. Only where `questions` is offered. The same answer is safe
   * to repeat.
   */
  answerQuestion(jobId: string, questionId: string, answer: QuestionAnswer): Promise<JobServiceAnswer>;
}
