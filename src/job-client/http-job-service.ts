import type { Dispatcher } from "undici";
import type { Besides, JobService, JobServiceAnswer, QuestionAnswer } from "../core/ports/job-service.ts";
import { createDispatcher, DIRECT, type ProxySettings } from "../process/proxy.ts";
import { CAPABILITIES_HEADER, formatCapabilities } from "./capabilities.ts";
import { exchange } from "./exchange.ts";
import { readExchange } from "./fault.ts";
import type { AnswerRequest, CreateJobRequest, MessageRequest } from "./schema.ts";

const USER_AGENT = "docs-agent-slack/0.1.0";
const POLL_KEEP_ALIVE_MS = 30_000;
const MAX_CALL_CHARS = 200;
/** What this client reads beyond the contract. */
const READS = formatCapabilities(["turns", "questions"]);

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
  onAnswer?: (answer: JobServiceAnswer) => void;
  /** Epoch milliseconds, for comparison with dates in `Retry-After`. @default Date.now */
  now?: () => number;
};

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
  readonly #onAnswer: (answer: JobServiceAnswer) => void;
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
    const request = { method: "GET" as const, headers: {} };
    return this.#call(this.#polls, `${this.#projectPath}/${segment(jobId)}`, jobId, request);
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

  #post(
    path: string,
    jobId: string | null,
    body: CreateJobRequest | MessageRequest | AnswerRequest | null,
    headers: Record<string, string> = {},
  ): Promise<JobServiceAnswer> {
    return this.#call(this.#creates, path, jobId, {
      method: "POST",
      ...(body === null
        ? { headers }
        : { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }),
    });
  }

  async #call(
    dispatcher: Dispatcher,
    path: string,
    jobId: string | null,
    request: { method: Dispatcher.HttpMethod; headers: Record<string, string>; body?: string },
  ): Promise<JobServiceAnswer> {
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
    const exchanged = await exchange(dispatcher, outgoing, this.#timeoutMs);
    const answer = readExchange(exchanged, {
      call: `${request.method} ${this.#redact(path).slice(0, MAX_CALL_CHARS)}`,
      isRead: request.method === "GET",
      jobId,
      host: this.#host,
      honorsIdempotencyKeys: this.honorsIdempotencyKeys,
      redact: (text) => this.#redact(text),
      now: this.#now,
    });
    this.#onAnswer(answer);
    return answer;
  }

  #redact(text: string): string {
    if (this.#apiKey === "") return text;
    return text.replaceAll(this.#apiKey, "[redacted]").replaceAll(segment(this.#apiKey), "[redacted]");
  }
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
