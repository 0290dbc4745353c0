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
/** What of a record beyond the contract this client reads. */
const READS = formatCapabilities(["turns", "questions"]);

/** One project at one job service. */
export type HttpJobServiceOptions = {
  /** http or https, may have a path. Credentials, query and fragment in it are not used. */
  baseUrl: string;
  projectId: string;
  apiKey: string;
  /** For one call as a whole: connecting, sending, and reading the answer. Milliseconds. */
  timeoutMs: number;
  /** The service honors `Idempotency-Key` although its answers don't announce it. @default false */
  idempotencyKeys?: boolean;
  /** @default DIRECT */
  proxy?: ProxySettings;
  /** Called with each answer. */
  onAnswer?: (answer: JobServiceAnswer) => void;
  /** Epoch milliseconds; dates in `Retry-After` are compared with it. @default Date.now */
  now?: () => number;
};

/**
 * Creates the client of one project. Connects to nothing until the first call; throws only for a
 * base URL that isn't one.
 */
export function createHttpJobService(options: HttpJobServiceOptions): HttpJobService {
  return new HttpJobService(options);
}

/** {@link JobService} over HTTP, as `docs/job-service.md` has it. */
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
    // 0 switches undici's own limits off: `timeoutMs` covers the call as a whole.
    const limits = { timeoutMs, headersTimeout: 0, bodyTimeout: 0 };
    this.#polls = createDispatcher(proxy, { ...limits, keepAliveTimeout: POLL_KEEP_ALIVE_MS });
    // A fresh connection for each (pipelining 0). On a kept one, the server's closing it for
    // idleness while we write looks the same as a create that arrived and lost its answer:
    // `unknown`, for nothing.
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
   * Waits for the calls under way (at most their timeout), then closes all connections. Idempotent;
   * later calls fail.
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
      // Answers are small. What something in between compresses all the same is read.
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

/** `attachments` first: a service may want to know early that a large body has some. */
function bodyOf(prompt: string, { attachments = [], words, requester }: Besides = {}): CreateJobRequest {
  return {
    ...(attachments.length === 0 ? {} : { attachments: [...attachments] }),
    prompt,
    ...(words === undefined ? {} : { words }),
    ...(requester === undefined ? {} : { requester }),
  };
}

/**
 * A path segment. Lone surrogates, which a service can put into a job id, would make
 * `encodeURIComponent` throw.
 */
function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
