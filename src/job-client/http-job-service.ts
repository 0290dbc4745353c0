import type { Dispatcher } from "undici";
import { projectKey, type ProjectRef } from "../core/job/project.ts";
import type { Clock } from "../core/ports/process.ts";
import {
  type Announced,
  type AnswerWith,
  type Besides,
  type ChangesAnswer,
  type Contact,
  type Contacts,
  type DiffAnswer,
  isFromServiceThatIsUp,
  type JobService,
  type JobServiceAnswer,
  type QuestionAnswer,
} from "../core/ports/job-service.ts";
import { createDispatcher, DIRECT, type ProxySettings } from "../process/proxy.ts";
import { exchange } from "./exchange.ts";
import { readChanges, type Reader, readExchange, readJob, readJobDiff } from "./fault.ts";
import {
  type AnswerRequest,
  CAPABILITIES_HEADER,
  type CreateJobRequest,
  formatCapabilities,
  type MessageRequest,
} from "./schema.ts";

const USER_AGENT = "docs-agent-slack/0.1.0";
const POLL_KEEP_ALIVE_MS = 30_000;
const MAX_CALL_CHARS = 200;
const MAX_WAIT_S = 50;
/** What this client reads beyond the contract. */
const READS = formatCapabilities(["turns", "questions", "pull-request"]);

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
  /** Epoch milliseconds, for comparison with dates in `Retry-After`. @default Date.now */
  now?: () => number;
};

type Outgoing = { method: Dispatcher.HttpMethod; headers: Record<string, string>; body?: string };

/** Creates a project's client. Connects on the first call. Throws only for an invalid base URL. */
export function createHttpJobService(options: HttpJobServiceOptions): HttpJobService {
  return new HttpJobService(options);
}

/** {@link JobService} over HTTP, as `docs/job-service.md` describes it. */
export class HttpJobService implements JobService {
  readonly honorsIdempotencyKeys: boolean;
  readonly #origin: string;
  readonly #host: string;
  readonly #basePath: string;
  readonly #projectPath: string;
  readonly #apiKey: string;
  readonly #timeoutMs: number;
  readonly #onAnswer: (answer: AnswerWith<object>) => void;
  readonly #now: () => number;
  readonly #polls: Dispatcher;
  readonly #creates: Dispatcher;
  #closed: Promise<void> | null = null;

  constructor({
    baseUrl,
    projectId,
    apiKey,
    timeoutMs,
    idempotencyKeys = false,
    proxy = DIRECT,
    onAnswer = () => {},
    now = () => Date.now(),
  }: HttpJobServiceOptions) {
    const url = new URL(baseUrl);
    this.#origin = url.origin;
    this.#host = url.host;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#projectPath = `/v2/agent/${segment(projectId)}/job`;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.honorsIdempotencyKeys = idempotencyKeys;
    this.#onAnswer = onAnswer;
    this.#now = now;
    // 0 disables undici's own limits, because `timeoutMs` covers the whole call.
    const limits = { timeoutMs, headersTimeout: 0, bodyTimeout: 0 };
    this.#polls = createDispatcher(proxy, { ...limits, keepAliveTimeout: POLL_KEEP_ALIVE_MS });
    // A fresh connection for each call (pipelining 0). On a kept one, if the server closes it for
    // idleness while we write, that looks like a create that arrived and lost its answer, so it
    // would be `unknown` for nothing.
    this.#creates = createDispatcher(proxy, { ...limits, pipelining: 0 });
  }

  createJob(prompt: string, idempotencyKey: string, besides?: Besides): Promise<JobServiceAnswer> {
    const body: CreateJobRequest = bodyOf(prompt, besides);
    return this.#post(this.#projectPath, null, body, { "idempotency-key": idempotencyKey });
  }

  getJob(jobId: string): Promise<JobServiceAnswer> {
    return this.#get(`${this.#projectPath}/${segment(jobId)}`, jobId, readJob);
  }

  changes(after: string | null, waitS: number, signal: AbortSignal): Promise<ChangesAnswer> {
    const wait = Math.min(waitS, longestWaitS(this.#timeoutMs));
    const query = after === null ? "" : `?after=${segment(after)}&wait=${wait}`;
    const path = `${this.#projectPath.replace(/job$/, "changes")}${query}`;
    return this.#get(path, null, readChanges, signal);
  }

  sendMessage(
    jobId: string,
    prompt: string,
    idempotencyKey: string,
    besides?: Besides,
  ): Promise<JobServiceAnswer> {
    const body: MessageRequest = bodyOf(prompt, besides);
    return this.#post(`${this.#projectPath}/${segment(jobId)}/message`, jobId, body, {
      "idempotency-key": idempotencyKey,
    });
  }

  cancelTurn(jobId: string, turn: number): Promise<JobServiceAnswer> {
    return this.#post(`${this.#projectPath}/${segment(jobId)}/turn/${turn}/cancel`, jobId, null);
  }

  readDiff(jobId: string): Promise<DiffAnswer> {
    return this.#get(`${this.#projectPath}/${segment(jobId)}/diff`, jobId, readJobDiff);
  }

  answerQuestion(jobId: string, questionId: string, answer: QuestionAnswer): Promise<JobServiceAnswer> {
    const body: AnswerRequest = { questionId, ...answer };
    return this.#post(`${this.#projectPath}/${segment(jobId)}/answer`, jobId, body);
  }

  /**
   * Waits for calls in progress (at most their timeout), then closes all connections. Idempotent.
   * Later calls fail.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#polls.close(), this.#creates.close()]).then(() => undefined);
    return this.#closed;
  }

  #get<T extends object>(path: string, jobId: string | null, read: Reader<T>, signal?: AbortSignal) {
    return this.#call(this.#polls, path, jobId, { method: "GET", headers: {} }, read, signal);
  }

  #post(
    path: string,
    jobId: string | null,
    body: CreateJobRequest | MessageRequest | AnswerRequest | null,
    headers: Record<string, string> = {},
  ): Promise<JobServiceAnswer> {
    const json = { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
    const request = { method: "POST" as const, ...(body === null ? { headers } : json) };
    return this.#call(this.#creates, path, jobId, request, readJob);
  }

  async #call<T extends object>(
    dispatcher: Dispatcher,
    path: string,
    jobId: string | null,
    request: Outgoing,
    read: Reader<T>,
    signal?: AbortSignal,
  ): Promise<Announced & AnswerWith<T>> {
    const headers = {
      ...request.headers,
      authorization: `Bearer ${this.#apiKey}`,
      accept: "application/json",
      [CAPABILITIES_HEADER.toLowerCase()]: READS,
      // Answers are small. If something in between compresses them anyway, they are still read.
      "accept-encoding": "identity",
      "user-agent": USER_AGENT,
    };
    const outgoing = { ...request, origin: this.#origin, path: this.#basePath + path, headers };
    const exchanged = await exchange(dispatcher, outgoing, this.#timeoutMs, signal);
    const context = {
      call: `${request.method} ${this.#redact(path).slice(0, MAX_CALL_CHARS)}`,
      isRead: request.method === "GET",
      jobId,
      host: this.#host,
      honorsIdempotencyKeys: this.honorsIdempotencyKeys,
      redact: (text: string) => this.#redact(text),
      now: this.#now,
    };
    const answer = readExchange(exchanged, context, read);
    if (signal?.aborted !== true) this.#onAnswer(answer);
    return answer;
  }

  #redact(text: string): string {
    if (this.#apiKey === "") return text;
    return text.replaceAll(this.#apiKey, "[redacted]").replaceAll(segment(this.#apiKey), "[redacted]");
  }
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
function bodyOf(prompt: string, { attachments = [], words, requester }: Besides = {}): CreateJobRequest {
  return {
    ...(attachments.length === 0 ? {} : { attachments: [...attachments] }),
    prompt,
    ...(words === undefined ? {} : { words }),
    ...(requester === undefined ? {} : { requester }),
  };
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
