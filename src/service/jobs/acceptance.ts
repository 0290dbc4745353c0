import { ContractJob } from "../../shared/contract/job.ts";
import type { Sent } from "../../shared/contract/reading.ts";
import { createHash, randomBytes } from "node:crypto";
import { basename } from "node:path";
import { z } from "zod";
import type { WrittenAttachment } from "./attachment-files.ts";
import type { ServiceProject } from "../config/config.ts";
import { JobRow, SELECT_JOB, type TurnKey } from "./rows.ts";
import { toSentJob } from "./sent-job.ts";
import { json } from "../base/json.ts";
import type { RunTurnInput } from "../runner/runner.ts";
import { type NotNow, whyNotAct } from "./acts.ts";
import type { Tables } from "./tables.ts";

/**
 * A create (with a null `jobId`), a message, either of them as a question, or an act on the pull
 * request, as received.
 */
export type TurnRequest = Pick<
  RunTurnInput,
  "project" | "kind" | "prompt" | "words" | "requester" | "authors"
> & {
  jobId: string | null;
  /** True if the project's settings ask for it, and nobody else. */
  isUnasked?: boolean;
  /** Their files are already on disk. */
  attachments: readonly WrittenAttachment[];
  idempotencyKey: string | null;
};

/**
 * The result of a request: accepted, already answered under the same idempotency key, or refused.
 */
export type Acceptance =
  | { kind: "accepted" | "repeated"; record: Sent<typeof ContractJob>; turn: TurnKey }
  | { kind: "key-reused" | "missing" | "archived" }
  | ({ kind: "not-now" } & NotNow)
  | { kind: "limited"; limit: "creates" | "messages" | "queued" | "attachments"; retryAfterMs: number };

const HOUR_MS = 60 * 60_000;
/** When the queue has room depends on the agents, so this is a short time. */
const QUEUE_RETRY_AFTER_MS = 60_000;
/** For all unfinished turns of a project. */
const MAX_ATTACHED_BYTES = 100 * 1024 ** 2;

const AnsweredRow = z.object({ request: z.string(), answer: json(ContractJob), turn: z.int() });

/** True if a request with this idempotency key was accepted before. */
export function wasAnsweredBefore(tables: Tables, projectId: string, key: string): boolean {
  const sql = `SELECT turn FROM idempotency WHERE project_id = ? AND key = ?`;
  return tables.value(z.int(), sql, projectId, key) !== null;
}

/**
 * Accepts or refuses a request. Call it inside a transaction, so that two simultaneous requests
 * can't both be the first or the last that is allowed.
 */
export function acceptTurnRequest(tables: Tables, request: TurnRequest, nowMs: number): Acceptance {
  const earlier = answeredBefore(tables, request);
  if (earlier !== null) return earlier;
  if (request.jobId !== null) {
    const job = tables.one(JobRow, `${SELECT_JOB} WHERE id = ?`, request.jobId);
    if (job === null || job.projectId !== request.project.id) return { kind: "missing" };
    if (job.status === "archived") return { kind: "archived" };
    const notNow =
      request.kind === "message" || request.kind === "ask" ? null : whyNotAct(tables, request.kind, job);
    if (notNow !== null) return { kind: "not-now", ...notNow };
  }
  return limited(tables, request, nowMs) ?? add(tables, request, nowMs);
}

function answeredBefore(tables: Tables, asked: TurnRequest): Acceptance | null {
  const sql = `SELECT request, answer, turn FROM idempotency WHERE project_id = ? AND key = ?`;
  const before = tables.one(AnsweredRow, sql, asked.project.id, asked.idempotencyKey);
  if (before === null) return null;
  const { request, answer: record, turn: number } = before;
  if (request !== fingerprint(asked)) return { kind: "key-reused" };
  return { kind: "repeated", record, turn: { jobId: record.id, number } };
}

function limited(
  tables: Tables,
  { project, jobId, attachments }: TurnRequest,
  nowMs: number,
): Acceptance | null {
  const { limits } = project;
  const isCreate = jobId === null;
  const perHour = isCreate ? limits.createsPerHour : limits.messagesPerHour;
  // There is room once this turn is old enough.
  const newest = `SELECT accepted_at FROM turns WHERE project_id = ? AND accepted_at > ? AND
    (number = 1) = ?
    ORDER BY accepted_at DESC LIMIT 1 OFFSET ?`;
  const values = [project.id, nowMs - HOUR_MS, isCreate ? 1 : 0, perHour - 1];
  const blockedAt = tables.value(z.int(), newest, ...values);
  if (blockedAt !== null) {
    const retryAfterMs = blockedAt + HOUR_MS - nowMs;
    return { kind: "limited", limit: isCreate ? "creates" : "messages", retryAfterMs };
  }
  const count = (sql: string) => tables.value(z.int(), sql, project.id) ?? 0;
  const unfinished = count(`SELECT count(*) FROM turns WHERE project_id = ? AND state <> 'ended'`);
  if (unfinished >= limits.jobsAtOnce + limits.queued) {
    return { kind: "limited", limit: "queued", retryAfterMs: QUEUE_RETRY_AFTER_MS };
  }
  if (attachments.length === 0) return null;
  const attached = count(`SELECT sum(bytes)
    FROM turns CROSS JOIN attachments ON attachments.job_id = turns.job_id AND turn = turns.number
    WHERE project_id = ? AND state <> 'ended'`);
  const bytes = attachments.reduce((sum, attachment) => sum + attachment.bytes, attached);
  if (bytes <= MAX_ATTACHED_BYTES) return null;
  return { kind: "limited", limit: "attachments", retryAfterMs: QUEUE_RETRY_AFTER_MS };
}

function add(tables: Tables, asked: TurnRequest, nowMs: number): Acceptance {
  const { project, jobId, kind, prompt, words, requester, authors, attachments, idempotencyKey } = asked;
  const isUnasked = asked.isUnasked === true ? 1 : 0;
  const id = jobId ?? `job-${randomBytes(10).toString("hex")}`;
  if (jobId === null) {
    const { branchPrefix } = project.pullRequests;
    const named = [sourceName(project), project.baseBranch, branchPrefix, project.model];
    const columns = "id, project_id, repository, ref, branch_prefix, model, created_at, active_at";
    const sql = `INSERT INTO jobs (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?7, ?7)`;
    tables.run(sql, id, project.id, ...named, nowMs);
  } else tables.run(`UPDATE jobs SET active_at = ? WHERE id = ?`, nowMs, id);
  const addTurn = `INSERT INTO turns (job_id, project_id, prompt, accepted_at, words, requester,
    authors, kind, is_unasked, number) VALUES (?1, ?, ?, ?, ?, ?, ?, ?, ?,
    (SELECT coalesce(max(number), 0) + 1 FROM turns WHERE job_id = ?1)) RETURNING number`;
  const who = [JSON.stringify(requester), JSON.stringify(authors)];
  const number =
    tables.value(z.int(), addTurn, id, project.id, prompt, nowMs, words, ...who, kind, isUnasked) ?? 0;
  for (const [index, { id: file, name, mediaType, bytes }] of attachments.entries()) {
    const columns = "job_id, turn, position, id, name, media_type, bytes";
    const sql = `INSERT INTO attachments (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`;
    tables.run(sql, id, number, index + 1, file, name, mediaType, bytes);
  }
  const job = tables.one(JobRow, `${SELECT_JOB} WHERE id = ?`, id);
  if (job === null) return { kind: "missing" };
  const record = toSentJob(job);
  if (idempotencyKey !== null) {
    const answered = [project.id, idempotencyKey, fingerprint(asked), JSON.stringify(record), number, nowMs];
    const columns = "project_id, key, request, answer, turn, created_at";
    tables.run(`INSERT INTO idempotency (${columns}) VALUES (?, ?, ?, ?, ?, ?)`, ...answered);
  }
  return { kind: "accepted", record, turn: { jobId: id, number } };
}

/**
 * The repository as a job's record shows it: `owner/repo` at a code host, its URL, or the name of a
 * local one.
 */
function sourceName({ codeHost, repository }: ServiceProject): string {
  if (codeHost.kind === "github") return `${codeHost.owner}/${codeHost.repo}`;
  // Paths of this machine are private.
  return repository.startsWith("/") ? basename(repository, ".git") : repository;
}

/**
 * Without the authors: they are those of the prompt, and an older replica of the app may repeat a
 * request without them.
 */
function fingerprint({ jobId, kind, prompt, words, requester, attachments }: TurnRequest): string {
  const files = attachments.map(({ name, mediaType, sha256 }) => [name, mediaType, sha256]);
  const who = requester === null ? null : [requester.name, requester.link, requester.isPrivate];
  // Requests of earlier versions are all messages.
  const asked = [jobId, prompt, files, words, who, ...(kind === "message" ? [] : [kind])];
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}
