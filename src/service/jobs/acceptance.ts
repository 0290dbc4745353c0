import { createHash, randomBytes } from "node:crypto";
import type { Requester } from "../../core/job-service.ts";
import type { WireJobRecord } from "../../job-client/schema.ts";
import type { WrittenAttachment } from "../attachments/attachment-files.ts";
import type { ServiceProject } from "../config.ts";
import { toRecord } from "./job.ts";
import { AcceptedAtRow, AnsweredRow, CountRow, JobRow, NumberRow } from "./rows.ts";
import { sourceName } from "./source-name.ts";
import type { JobStatements } from "./statements.ts";

/** A turn, named. */
export type TurnKey = { jobId: string; number: number };

/** A create (`jobId` null) or a message, as it came in. */
export type TurnRequest = {
  project: ServiceProject;
  jobId: string | null;
  prompt: string;
  /** What of the prompt the person typed; null: it isn't known, or nothing. */
  words: string | null;
  requester: Requester | null;
  /** Their files are on the disk. */
  attachments: readonly WrittenAttachment[];
  idempotencyKey: string | null;
};

/**
 * What became of a request: accepted, answered before under the same idempotency key, or refused. `turn` of a repeated one is null if
 * an earlier version, which did not note it, answered first.
 */
export type Acceptance =
  | { kind: "accepted"; record: WireJobRecord; turn: TurnKey }
  | { kind: "repeated"; record: WireJobRecord; turn: TurnKey | null }
  | { kind: "key-reused" }
  | { kind: "missing" }
  | { kind: "archived" }
  | { kind: "limited"; limit: "creates" | "messages" | "queued" | "attachments"; retryAfterMs: number };

const HOUR_MS = 60 * 60_000;
/** When room in the queue comes depends on the agent: no better answer than a short while. */
const QUEUE_RETRY_AFTER_MS = 60_000;
/** Of a project's turns that have not ended. */
const MAX_ATTACHED_BYTES = 100 * 1024 ** 2;

/** Takes requests in: each inside of a transaction, so that no two requests at once can both be the first, or both be the last. */
export class Acceptances {
  readonly #sql: JobStatements;

  constructor(sql: JobStatements) {
    this.#sql = sql;
  }

  accept(request: TurnRequest, nowMs: number): Acceptance {
    const earlier = this.#answeredBefore(request);
    if (earlier !== null) return earlier;
    if (request.jobId !== null) {
      const row = this.#sql.job.get(request.jobId);
      const job = row === undefined ? null : JobRow.parse(row);
      if (job === null || job.projectId !== request.project.id) return { kind: "missing" };
      if (job.status === "archived") return { kind: "archived" };
    }
    return this.#limited(request, nowMs) ?? this.#add(request, nowMs);
  }

  #answeredBefore(asked: TurnRequest): Acceptance | null {
    const { project, idempotencyKey } = asked;
    if (idempotencyKey === null) return null;
    const row = this.#sql.answered.get(project.id, idempotencyKey);
    if (row === undefined) return null;
    const { request, answer, turn } = AnsweredRow.parse(row);
    if (request !== fingerprint(asked)) return { kind: "key-reused" };
    return {
      kind: "repeated",
      record: answer,
      turn: turn === null ? null : { jobId: answer.id, number: turn },
    };
  }

  #limited({ project, jobId, attachments }: TurnRequest, nowMs: number): Acceptance | null {
    const { limits } = project;
    const isCreate = jobId === null;
    const perHour = isCreate ? limits.createsPerHour : limits.messagesPerHour;
    const select = isCreate ? this.#sql.blockingCreate : this.#sql.blockingMessage;
    const blocking = select.get(project.id, nowMs - HOUR_MS, perHour - 1);
    if (blocking !== undefined) {
      const retryAfterMs = AcceptedAtRow.parse(blocking).accepted_at + HOUR_MS - nowMs;
      return { kind: "limited", limit: isCreate ? "creates" : "messages", retryAfterMs };
    }
    const { count } = CountRow.parse(this.#sql.countUnfinished.get(project.id));
    if (count >= limits.jobsAtOnce + limits.queued) {
      return { kind: "limited", limit: "queued", retryAfterMs: QUEUE_RETRY_AFTER_MS };
    }
    if (attachments.length === 0) return null;
    const { count: attached } = CountRow.parse(this.#sql.attachedBytes.get(project.id));
    const bytes = attachments.reduce((sum, attachment) => sum + attachment.bytes, attached);
    if (bytes <= MAX_ATTACHED_BYTES) return null;
    return { kind: "limited", limit: "attachments", retryAfterMs: QUEUE_RETRY_AFTER_MS };
  }

  #add(asked: TurnRequest, nowMs: number): Acceptance {
    const { project, jobId, prompt, words, requester, attachments, idempotencyKey } = asked;
    const id = jobId ?? `job-${randomBytes(10).toString("hex")}`;
    if (jobId === null) {
      const { model, baseBranch } = project;
      this.#sql.addJob.run(id, project.id, sourceName(project), baseBranch, model, nowMs, nowMs);
    } else {
      this.#sql.touchJob.run(nowMs, id);
    }
    const addTurn = jobId === null ? this.#sql.addFirstTurn : this.#sql.addNextTurn;
    const { number } = NumberRow.parse(
      addTurn.get(id, project.id, prompt, nowMs, words, JSON.stringify(requester)),
    );
    for (const [index, { id: file, name, mediaType, bytes }] of attachments.entries()) {
      this.#sql.addAttachment.run(id, number, index + 1, file, name, mediaType, bytes);
    }
    const record = toRecord(JobRow.parse(this.#sql.job.get(id)));
    if (idempotencyKey !== null) {
      const request = fingerprint(asked);
      const status = jobId === null ? 201 : 200;
      const answer = JSON.stringify(record);
      this.#sql.addAnswered.run(project.id, idempotencyKey, request, status, answer, number, nowMs);
    }
    return { kind: "accepted", record, turn: { jobId: id, number } };
  }
}

function fingerprint({ jobId, prompt, words, requester, attachments }: TurnRequest): string {
  const files = attachments.map(({ name, mediaType, sha256 }) => [name, mediaType, sha256]);
  const who = requester === null ? null : [requester.name, requester.link, requester.isPrivate];
  const more = words === null && who === null ? [] : [words, who];
  // Of a prompt alone as ever: keys are kept over an update.
  const asked = files.length === 0 && more.length === 0 ? [jobId, prompt] : [jobId, prompt, files, ...more];
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}
