import { request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { BenchError } from "./scenario.ts";
import { nowMs } from "../world/clock/epoch.ts";
import type { SignedRequest } from "./signed-request.ts";
import { quantile } from "./table.ts";

const PATH = "/slack/events";

/** The rate and the latencies of a load. */
export type LoadResult = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The time of each answer in epoch milliseconds, by the number of its request. */
  acceptedAtMs: Map<number, number>;
};

/** Sends requests over a fixed number of kept connections, one at a time on each. */
export class Load implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #connections: number;
  readonly #requests: readonly SignedRequest[];
  #sent = 0;

  /** Sends each of `requests` once. */
  constructor(origin: string, connections: number, requests: readonly SignedRequest[]) {
    this.#pool = new Pool(origin, { connections, pipelining: 1 });
    this.#connections = connections;
    this.#requests = requests;
  }

  /**
   * Keeps every connection busy for that time, or until nothing is left to send, and measures after
   * the warm-up. A later answer counts as a latency but not in the rate. Rejects if an answer is
   * anything but "taken", which is 200 without a body. A body would tell the person that the
   * request wasn't kept.
   */
  async run(durationMs: number, warmUpMs = 0): Promise<LoadResult> {
    const measuredFrom = performance.now() + warmUpMs;
    const latenciesMs: number[] = [];
    let inTime = 0;
    let lastAfterMs = 0;
    const acceptedAtMs = new Map<number, number>();
    const connection = async () => {
      while (performance.now() - measuredFrom < durationMs) {
        const request = this.#next();
        if (request === undefined) return;
        const latencyMs = await this.send(request);
        const afterMs = performance.now() - measuredFrom;
        if (afterMs < 0) continue;
        latenciesMs.push(latencyMs);
        if (afterMs <= durationMs) inTime += 1;
        lastAfterMs = Math.min(afterMs, durationMs);
        acceptedAtMs.set(request.n, nowMs());
      }
    };
    await Promise.all(Array.from({ length: this.#connections }, connection));
    return {
      perSecond: (inTime / lastAfterMs) * 1000,
      p50Ms: quantile(latenciesMs, 0.5),
      p99Ms: quantile(latenciesMs, 0.99),
      acceptedAtMs,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  #next(): SignedRequest | undefined {
    const request = this.#requests[this.#sent];
    this.#sent += 1;
    return request;
  }

  /** Sends one request. Resolves to the milliseconds until its answer. */
  async send({ headers, body }: SignedRequest): Promise<number> {
    const sentAt = performance.now();
    const answer = await this.#pool.request({ method: "POST", path: PATH, headers, body });
    const said = await answer.body.text();
    if (answer.statusCode !== 200 || said !== "") throw notTaken(answer.statusCode, said);
    return performance.now() - sentAt;
  }
}

/**
 * Sends requests at a fixed pace, each on its own connection, without waiting for earlier answers.
 * Resolves to the time of each from the moment it was due, in milliseconds, or `Infinity` without
 * an answer within `timeoutMs`.
 */
export async function flood(
  origin: string,
  requests: readonly SignedRequest[],
  { perSecond, timeoutMs }: { perSecond: number; timeoutMs: number },
): Promise<number[]> {
  const url = new URL(PATH, origin);
  const startedAt = performance.now();
  const latencies: Promise<number>[] = [];
  for (const [index, request] of requests.entries()) {
    const dueAt = startedAt + (index * 1000) / perSecond;
    const early = dueAt - performance.now();
    if (early > 0) await sleep(early);
    latencies.push(
      sendAlone(url, request, timeoutMs).then((isTaken) => (isTaken ? performance.now() - dueAt : Infinity)),
    );
  }
  return await Promise.all(latencies);
}

/** Resolves to true if the request was taken in time. Rejects if it was refused. */
function sendAlone(url: URL, { headers, body }: SignedRequest, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const sending = httpRequest(url, { method: "POST", headers, agent: false }, (answer) => {
      let said = "";
      answer.setEncoding("utf8").on("data", (text: string) => (said += text));
      answer.on("end", () => {
        if (answer.statusCode === 200 && said === "") resolve(true);
        else reject(notTaken(answer.statusCode ?? 0, said));
      });
    });
    sending.on("error", () => resolve(false));
    const timer = setTimeout(() => sending.destroy(new Error("no answer in time")), timeoutMs);
    sending.on("close", () => clearTimeout(timer));
    sending.end(body);
  });
}

function notTaken(status: number, said: string): BenchError {
  return new BenchError(`A request was not taken: ${status} ${said.slice(0, 300)}`);
}
