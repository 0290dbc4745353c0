import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, request as send } from "undici";
import { z } from "zod";
import { codeOrNameOf } from "../../../shared/errors.ts";
import { TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import {
  AboutAnswer,
  CLAIM_MS,
  KEYS_BETWEEN,
  ClaimAnswer,
  LentFault,
  type ClaimRequest,
  LEASE_HEADER,
  misfit,
  PROTOCOL,
  ReportAnswer,
  type ReportRequest,
  REPORT_WITHIN_MS,
  type LeasedWork,
  type WorkResult,
} from "../protocol.ts";
import type { CommitIdentity } from "../../pulls/code-host/commit-identities.ts";
import type { JobNotes } from "../runner.ts";

/** The work belongs to somebody else now, or has ended. Nothing more may be done for it. */
export class WorkLostError extends TransientRunError {
  constructor() {
    super("The job service has given this to somebody else, or has ended it.");
  }
}

/** The service refuses the runner, and will do so again: for its token or its version. */
export class RunnerRefusedError extends TransientRunError {
  /** The status of the answer. Null if what was answered doesn't fit. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** There was no answer, or none of the service's own. The same call may get one later. */
export class UnansweredError extends TransientRunError {}

export type ServiceLinkOptions = {
  /** `https://host`, or any address if the dispatcher leads to a socket. */
  url: string;
  token: string;
  dispatcher: Dispatcher;
  /** Aborts what is under way when the runner ends. */
  signal: AbortSignal;
};

const ANSWER_MS = 15_000;
/** How soon, and how seldom at most, a call is repeated. */
const AGAIN_MS = { first: 250, max: 10_000 };
const NO_SERVICE = "There is no job service at this address that speaks to runners.";
const MAX_ANSWER_BYTES = 16 * 1024 ** 2;
const Fault = z.object({ error: z.string(), ...LentFault.partial().shape });

type Call = {
  method: "GET" | "POST" | "PUT";
  path: string;
  work?: Pick<LeasedWork, "id" | "token">;
  body?: object;
  withinMs?: number;
  signal?: AbortSignal | undefined;
};

/** The runner's side of the runner API: HTTP calls to the job service. */
export class ServiceLink {
  readonly #options: ServiceLinkOptions;

  constructor(options: ServiceLinkOptions) {
    this.#options = options;
  }

  /** Resolves to the next piece of work, or to null if there is none for a while. */
  async claim(claim: ClaimRequest, signal: AbortSignal): Promise<LeasedWork | null> {
    const call = { method: "POST", path: "/claims", body: claim, signal } as const;
    return ClaimAnswer.parse(await this.#json({ ...call, withinMs: CLAIM_MS + ANSWER_MS })).work;
  }

  /**
   * What a runner elsewhere has to know before it asks for work. Rejects with a
   * {@link RunnerRefusedError} if the service has another protocol.
   */
  async about(): Promise<AboutAnswer> {
    const said = await this.#json({ method: "GET", path: "/about" });
    const { data } = z.looseObject({ protocol: z.int() }).safeParse(said);
    if (data !== undefined && data.protocol !== PROTOCOL) {
      throw new RunnerRefusedError(misfit({ runner: PROTOCOL, service: data.protocol }));
    }
    const about = AboutAnswer.safeParse(said).data;
    if (about === undefined) throw new RunnerRefusedError(NO_SERVICE, 404);
    return about;
  }

  /** Reports once. Rejects with a {@link WorkLostError} if the work isn't the runner's anymore. */
  async report(work: LeasedWork, report: ReportRequest, signal: AbortSignal): Promise<ReportAnswer> {
    const body = { method: "PUT", path: `/report`, work, body: report, signal } as const;
    return ReportAnswer.parse(await this.#json({ ...body, withinMs: REPORT_WITHIN_MS + ANSWER_MS }));
  }

  /** Sends what came of a piece of work until it is taken or lost, or the signal aborts. */
  async result(work: LeasedWork, result: WorkResult, signal?: AbortSignal): Promise<void> {
    await this.#untilAnswered({ method: "PUT", path: "/result", work, body: result, signal });
  }

  notesOf(work: LeasedWork, signal: AbortSignal): JobNotes {
    const Note = z.object({ text: z.string().nullable() });
    return {
      read: async (kind) => {
        const answer = await this.#untilAnswered({ method: "GET", path: `/notes/${kind}`, work, signal });
        return Note.parse(answer).text;
      },
      write: async (kind, text) => {
        await this.#untilAnswered({ method: "PUT", path: `/notes/${kind}`, work, body: { text }, signal });
      },
    };
  }

  /** Writes an attachment of a turn to a file. */
  async attachment(work: LeasedWork, place: number, path: string, signal: AbortSignal): Promise<void> {
    const call = { method: "GET", path: `/attachments/${place}`, work, signal, withinMs: 60_000 } as const;
    await this.#repeated(call, async () => {
      const { body } = await this.#send(call);
      await pipeline(body, createWriteStream(path, { mode: 0o600 })).catch((thrown: unknown) => {
        throw codeOrNameOf(thrown).startsWith("E") ? thrown : unanswered(thrown);
      });
    });
  }

  /** A token for the work's repository. `refused` is one that the code host doesn't accept. */
  async repositoryToken(
    work: LeasedWork,
    refused: string | null,
    signal: AbortSignal,
  ): Promise<string | null> {
    const Token = z.object({ token: z.string().nullable() });
    const call = { method: "POST", path: "/token", work, body: { refused }, signal } as const;
    return Token.parse(await this.#untilAnswered(call)).token;
  }

  /** Whose commits the work's are. */
  async identity(work: LeasedWork, signal: AbortSignal): Promise<CommitIdentity> {
    const Identity = z.object({ name: z.string(), email: z.string() });
    return Identity.parse(await this.#untilAnswered({ method: "GET", path: "/identity", work, signal }));
  }

  /** The address and the key of the work's models. */
  modelsOf({ id, token }: LeasedWork): { url: string; key: string } {
    const key = [this.#options.token, token].join(KEYS_BETWEEN);
    return { url: `${this.#options.url}/runner/work/${id}`, key };
  }

  /** Repeats a call until the service has answered it. */
  #untilAnswered(call: Call): Promise<unknown> {
    return this.#repeated(call, () => this.#json(call));
  }

  async #repeated<T>(call: Pick<Call, "signal">, act: () => Promise<T>): Promise<T> {
    for (let waitMs = AGAIN_MS.first; ; waitMs = Math.min(waitMs * 2, AGAIN_MS.max)) {
      try {
        return await act();
      } catch (thrown) {
        call.signal?.throwIfAborted();
        this.#options.signal.throwIfAborted();
        if (!(thrown instanceof UnansweredError)) throw thrown;
        await sleep(waitMs, undefined, { signal: this.#signalOf(call) });
      }
    }
  }

  async #json(call: Call): Promise<unknown> {
    const { body } = await this.#send(call);
    const value = jsonOrNull(await readText(body));
    if (value === null) throw new UnansweredError("The job service's answer isn't JSON.");
    return value;
  }

  async #send({ method, path, work, body, withinMs = ANSWER_MS, signal }: Call) {
    const { url, token, dispatcher } = this.#options;
    const within = AbortSignal.timeout(withinMs);
    const answer = await send(`${url}/runner${work === undefined ? "" : `/work/${work.id}`}${path}`, {
      method,
      dispatcher,
      signal: AbortSignal.any([this.#signalOf({ signal }), within]),
      headers: {
        authorization: `Bearer ${token}`,
        ...(work !== undefined && { [LEASE_HEADER]: work.token }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headersTimeout: withinMs,
      bodyTimeout: withinMs,
    }).catch((thrown: unknown) => {
      signal?.throwIfAborted();
      throw unanswered(thrown);
    });
    const { statusCode } = answer;
    if (statusCode === 200) return answer;
    const said = Fault.safeParse(jsonOrNull(await readText(answer.body))).data;
    throw faultOf(statusCode, said, work !== undefined);
  }

  #signalOf({ signal }: { signal?: AbortSignal | undefined }): AbortSignal {
    return signal === undefined ? this.#options.signal : AbortSignal.any([this.#options.signal, signal]);
  }
}

/**
 * What an answer means that isn't 200. What doesn't speak as the service does is something between
 * the two, such as a proxy: it knows nothing about work, but the address may be wrong.
 */
function faultOf(
  status: number,
  said: z.infer<typeof Fault> | undefined,
  isAboutWork: boolean,
): TransientRunError | TurnFailedError {
  const reason = `The job service answered ${status}. ${said?.error ?? ""}`.trim();
  if (status >= 500 || status === 429) return new UnansweredError(reason);
  if (said === undefined && isAboutWork) return new UnansweredError(reason);
  if (status === 409) return new WorkLostError();
  if ([401, 403, 404, 426].includes(status)) return new RunnerRefusedError(reason, status);
  const { error = reason, isFinal, details = [], retryAfterMs = null } = said ?? {};
  if (isFinal === undefined) return new TransientRunError(reason);
  return isFinal
    ? new TurnFailedError(error, { details })
    : new TransientRunError(error, { details, retryAfterMs });
}

function unanswered(thrown: unknown): UnansweredError {
  return new UnansweredError("The job service can't be reached.", { details: [codeOrNameOf(thrown)] });
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw new TransientRunError("The job service's answer is too long.");
      chunks.push(chunk);
    }
  } catch (thrown) {
    if (thrown instanceof TransientRunError) throw thrown;
    throw unanswered(thrown);
  }
  return Buffer.concat(chunks).toString();
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
