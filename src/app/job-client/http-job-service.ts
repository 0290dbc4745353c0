import type { Dispatcher } from "undici";
import { projectKey, type ProjectRef } from "../rules/project.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import {
  type Announced,
  type AnswerWith,
  type Besides,
  type Contact,
  type Contacts,
  isFromServiceThatIsUp,
  type JobService,
  type JobServiceAnswer,
} from "../rules/ports/job-service.ts";
import { DIRECT, type ProxySettings } from "../../shared/machine/proxy.ts";
import { exchange } from "./exchange.ts";
import { readChanges, type Reader, readExchange, readJob, readJobDiff } from "./fault.ts";
import { LEVEL_HEADER, SAID_BY_CLIENT } from "../../shared/contract/level.ts";
import type { AnswerRequest } from "../../shared/contract/question.ts";
import type { CreateJobRequest } from "../../shared/contract/request.ts";

const USER_AGENT = "docs-agent-slack/0.1.0";
const POLL_KEEP_ALIVE_MS = 30_000;
const MAX_CALL_CHARS = 200;
const MAX_WAIT_S = 50;
const READS = SAID_BY_CLIENT.join(", ");

/** One project at one job service. */
export type HttpJobServiceOptions = {
  /** http or https, may have a path. Credentials, query and fragment are ignored. */
  baseUrl: string;
  projectId: string;
  apiKey: string;
  /** Timeout of one whole call: connecting, sending, and reading the answer. Milliseconds. */
  timeoutMs: number;
  /** True if the service honors `Idempotency-Key` without announcing it. @default false */
  idempotencyKeys?: boolean;
  /** @default DIRECT */
  proxy?: ProxySettings;
  /** Called with each answer. */
  onAnswer?: (answer: AnswerWith<object>) => void;
};

type Connections = { polls: Dispatcher; creates: Dispatcher };
type Outgoing = { method: Dispatcher.HttpMethod; headers: Record<string, string>; body?: string };

/** {@link JobService} over HTTP, as `docs/job-service.md` describes it. */
export type HttpJobService = JobService & {
  /**
   * Waits for calls in progress (at most their timeout), then closes all connections. Idempotent.
   * Later calls fail.
   */
  close(): Promise<void>;
};

/** Creates a project's client. Connects on the first call. Throws only for an invalid base URL. */
export function createHttpJobService({
  baseUrl,
  projectId,
  apiKey,
  timeoutMs,
  idempotencyKeys = false,
  proxy = DIRECT,
  onAnswer = () => {},
}: HttpJobServiceOptions): HttpJobService {
  const { origin, host, pathname } = new URL(baseUrl);
  const basePath = pathname.replace(/\/+$/, "");
  const projectPath = `/v2/agent/${segment(projectId)}`;
  // 0 disables undici's own limits, because `timeoutMs` covers the whole call.
  const limits = { timeoutMs, headersTimeout: 0, bodyTimeout: 0 };
  let opened: Promise<Connections> | null = null;
  let closed: Promise<void> | null = null;

  async function open(): Promise<Connections> {
    const { createDispatcher } = await import("../../shared/machine/dispatcher.ts");
    return {
      polls: createDispatcher(proxy, { ...limits, keepAliveTimeout: POLL_KEEP_ALIVE_MS }),
      // A fresh connection for each call (pipelining 0). On a kept one, if the server closes it for
      // idleness while we write, that looks like a create that arrived and lost its answer, so it
      // would be `unknown` for nothing.
      creates: createDispatcher(proxy, { ...limits, pipelining: 0 }),
    };
  }

  function redact(text: string): string {
    if (apiKey === "") return text;
    return text.replaceAll(apiKey, "[redacted]").replaceAll(segment(apiKey), "[redacted]");
  }

  async function call<T extends object>(
    over: keyof Connections,
    path: string,
    jobId: string | null,
    request: Outgoing,
    read: Reader<T>,
    signal?: AbortSignal,
  ): Promise<Announced & AnswerWith<T>> {
    const headers = {
      ...request.headers,
      authorization: `Bearer ${apiKey}`,
      accept: "application/json",
      [LEVEL_HEADER.toLowerCase()]: READS,
      // Answers are small. If something in between compresses them anyway, they are still read.
      "accept-encoding": "identity",
      "user-agent": USER_AGENT,
    };
    const outgoing = { ...request, origin, path: basePath + path, headers };
    opened ??= open();
    const exchanged = await exchange((await opened)[over], outgoing, timeoutMs, signal);
    const { method } = request;
    const context = {
      call: `${method} ${redact(path).slice(0, MAX_CALL_CHARS)}`,
      isRead: method === "GET",
      jobId,
      host,
      honorsIdempotencyKeys: idempotencyKeys,
      redact,
    };
    const answer = readExchange(exchanged, context, read);
    if (signal?.aborted !== true) onAnswer(answer);
    return answer;
  }

  function get<T extends object>(path: string, jobId: string | null, read: Reader<T>, signal?: AbortSignal) {
    return call("polls", `${projectPath}/${path}`, jobId, { method: "GET", headers: {} }, read, signal);
  }

  function post(
    path: string,
    jobId: string | null,
    body: CreateJobRequest | AnswerRequest | null,
    headers: Record<string, string> = {},
  ): Promise<JobServiceAnswer> {
    const json = { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
    const request = { method: "POST" as const, ...(body === null ? { headers } : json) };
    return call("creates", `${projectPath}/${path}`, jobId, request, readJob);
  }

  return {
    honorsIdempotencyKeys: idempotencyKeys,

    createJob: (prompt, key, besides) =>
      post("job", null, bodyOf(prompt, besides), { "idempotency-key": key }),

    getJob: (jobId) => get(`job/${segment(jobId)}`, jobId, readJob),

    changes(after, waitS, signal) {
      const wait = Math.min(waitS, longestWaitS(timeoutMs));
      const query = after === null ? "" : `?after=${segment(after)}&wait=${wait}`;
      return get(`changes${query}`, null, readChanges, signal);
    },

    sendMessage: (jobId, prompt, key, besides) =>
      post(`job/${segment(jobId)}/message`, jobId, bodyOf(prompt, besides), { "idempotency-key": key }),

    cancelTurn: (jobId, turn) => post(`job/${segment(jobId)}/turn/${turn}/cancel`, jobId, null),

    readDiff: (jobId) => get(`job/${segment(jobId)}/diff`, jobId, readJobDiff),

    closePullRequest: (jobId) => post(`job/${segment(jobId)}/pull-request/close`, jobId, null),

    answerQuestion: (jobId, questionId, answer) =>
      post(`job/${segment(jobId)}/answer`, jobId, { questionId, ...answer }),

    close() {
      opened ??= open();
      closed ??= opened.then(async ({ polls, creates }) => {
        await Promise.all([polls.close(), creates.close()]);
      });
      return closed;
    },
  };
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

/**
 * Encodes a path segment. A service can put lone surrogates into a job id, which would make
 * `encodeURIComponent` throw.
 */
function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/**
 * Remembers whether each project's job service last answered. It covers this process only, and
 * makes no calls of its own.
 */
export function createContacts(
  clock: Pick<Clock, "now">,
): Contacts & { noting(project: ProjectRef): (answer: AnswerWith<object>) => void } {
  const contacts = new Map<string, Contact>();
  return {
    last: () => [...contacts.values()],

    noting(project) {
      const key = projectKey(project);
      return (answer) => {
        const at = clock.now();
        const isUp = isFromServiceThatIsUp(answer);
        const known = contacts.get(key);
        contacts.set(key, { project, isUp, since: known?.isUp === isUp ? known.since : at, at });
      };
    },
  };
}
