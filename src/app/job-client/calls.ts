import type { Dispatcher } from "undici";
import type { Announced, AnswerWith } from "../rules/ports/job-service.ts";
import { DIRECT, type ProxySettings } from "../../shared/machine/proxy.ts";
import { exchange } from "./exchange.ts";
import { type Reader, readExchange, readJob } from "./fault.ts";
import type { AnswerRequest } from "../../shared/contract/question.ts";
import type { ActRequest, CreateJobRequest } from "../../shared/contract/request.ts";
import { LEVEL_KEY, SAID_BY_CLIENT } from "../../shared/contract/level.ts";

const USER_AGENT = "docs-agent-slack/0.1.0";
const POLL_KEEP_ALIVE_MS = 30_000;
const MAX_CALL_CHARS = 200;
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

type Outgoing = { method: "GET" | "POST"; headers: Record<string, string>; body?: string };

/**
 * Makes a project's calls. `path` is below the project's own, and `jobId` is the job that a call is
 * about, if any. Connects on the first call. Throws only for an invalid base URL.
 */
export function createCalls({
  baseUrl,
  projectId,
  apiKey,
  timeoutMs,
  idempotencyKeys = false,
  proxy = DIRECT,
  onAnswer = () => {},
}: HttpJobServiceOptions) {
  const { origin, host, pathname } = new URL(baseUrl);
  const basePath = pathname.replace(/\/+$/, "");
  const connections = createConnections(proxy, timeoutMs);

  function redact(text: string): string {
    if (apiKey === "") return text;
    return text.replaceAll(apiKey, "[redacted]").replaceAll(segment(apiKey), "[redacted]");
  }

  async function call<T extends object>(
    path: string,
    jobId: string | null,
    request: Outgoing,
    read: Reader<T>,
    signal?: AbortSignal,
  ): Promise<Announced & AnswerWith<T>> {
    const isRead = request.method === "GET";
    const ownPath = `/v2/agent/${segment(projectId)}/${path}`;
    const headers = { ...request.headers, ...headersOf(apiKey) };
    const outgoing = { ...request, origin, path: basePath + ownPath, headers };
    const { polls, creates } = await connections.opened();
    const exchanged = await exchange(isRead ? polls : creates, outgoing, timeoutMs, signal);
    const context = {
      call: `${request.method} ${redact(ownPath).slice(0, MAX_CALL_CHARS)}`,
      isRead,
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
    return call(path, jobId, { method: "GET", headers: {} }, read, signal);
  }

  /** Sends `body` as JSON, or nothing if it is null. The answer is about a job. */
  function post(
    path: string,
    jobId: string | null,
    body: CreateJobRequest | ActRequest | AnswerRequest | null,
    headers: Record<string, string> = {},
  ) {
    const json = { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
    return call(path, jobId, { method: "POST", ...(body === null ? { headers } : json) }, readJob);
  }

  return { get, post, close: () => connections.close() };
}

function headersOf(apiKey: string): Record<string, string> {
  return {
    authorization: `Bearer ${apiKey}`,
    accept: "application/json",
    [LEVEL_KEY]: READS,
    // Answers are small. If something in between compresses them anyway, they are still read.
    "accept-encoding": "identity",
    "user-agent": USER_AGENT,
  };
}

type Connections = { polls: Dispatcher; creates: Dispatcher };

/** Opens the connections at their first use. `close` waits for calls in progress. */
function createConnections(proxy: ProxySettings, timeoutMs: number) {
  // 0 disables undici's own limits, because `timeoutMs` covers the whole call.
  const limits = { timeoutMs, headersTimeout: 0, bodyTimeout: 0 };
  let opening: Promise<Connections> | null = null;
  let closing: Promise<void> | null = null;

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

  function opened(): Promise<Connections> {
    opening ??= open();
    return opening;
  }

  function close(): Promise<void> {
    closing ??= opened().then(async ({ polls, creates }) => {
      await Promise.all([polls.close(), creates.close()]);
    });
    return closing;
  }

  return { opened, close };
}

/**
 * Encodes a path segment. A service can put lone surrogates into a job id, which would make
 * `encodeURIComponent` throw.
 */
export function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
