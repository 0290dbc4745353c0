import type { Besides, JobService } from "../rules/ports/job-service.ts";
import { createCalls, type HttpJobServiceOptions, segment } from "./calls.ts";
import { readChanges, readJob, readJobDiff } from "./fault.ts";
import type { CreateJobRequest } from "../../shared/contract/request.ts";

const MAX_WAIT_S = 50;

/** {@link JobService} over HTTP, as `docs/job-service.md` describes it. */
export type HttpJobService = JobService & {
  /**
   * Waits for calls in progress (at most their timeout), then closes all connections. Idempotent.
   * Later calls fail.
   */
  close(): Promise<void>;
};

/** Creates a project's client. Connects on the first call. Throws only for an invalid base URL. */
export function createHttpJobService(options: HttpJobServiceOptions): HttpJobService {
  const { get, post, close } = createCalls(options);
  return {
    honorsIdempotencyKeys: options.idempotencyKeys ?? false,

    createJob: (prompt, key, besides) =>
      post("job", null, bodyOf(prompt, besides), { "idempotency-key": key }),

    getJob: (jobId) => get(jobPath(jobId), jobId, readJob),

    changes(after, waitS, signal) {
      const wait = Math.min(waitS, longestWaitS(options.timeoutMs));
      const query = after === null ? "" : `?after=${segment(after)}&wait=${wait}`;
      return get(`changes${query}`, null, readChanges, signal);
    },

    sendMessage: (jobId, prompt, key, besides) =>
      post(jobPath(jobId, "message"), jobId, bodyOf(prompt, besides), { "idempotency-key": key }),

    ask: (jobId, prompt, key, besides) =>
      post(jobId === null ? "ask" : jobPath(jobId, "ask"), jobId, bodyOf(prompt, besides), {
        "idempotency-key": key,
      }),

    act: (jobId, act, key, people = {}) =>
      post(jobPath(jobId, act), jobId, people, { "idempotency-key": key }),

    cancelTurn: (jobId, turn) => post(jobPath(jobId, `turn/${turn}/cancel`), jobId, null),

    readDiff: (jobId) => get(jobPath(jobId, "diff"), jobId, readJobDiff),

    closePullRequest: (jobId) => post(jobPath(jobId, "pull-request/close"), jobId, null),

    answerQuestion: (jobId, questionId, answer) =>
      post(jobPath(jobId, "answer"), jobId, { questionId, ...answer }),

    close,
  };
}

function jobPath(jobId: string, part?: string): string {
  return `job/${segment(jobId)}${part === undefined ? "" : `/${part}`}`;
}

/**
 * The longest wait for changes, seconds: an answer that comes at its end still arrives in time, and
 * nothing in between cuts a silent connection.
 */
function longestWaitS(timeoutMs: number): number {
  return Math.min(MAX_WAIT_S, Math.floor(Math.max(timeoutMs - 5_000, timeoutMs / 2) / 1_000));
}

/**
 * `attachments` come first, because a service may want to know early that a large body has some.
 */
function bodyOf(prompt: string, { attachments = [], ...who }: Besides = {}): CreateJobRequest {
  return { attachments: attachments.length === 0 ? undefined : [...attachments], prompt, ...who };
}
