import { Pool } from "undici";
import type { SignedRequest } from "./signed-request.ts";
import { quantile } from "./table.ts";

export type LoadResult = { perSecond: number; p50Ms: number; p99Ms: number };

/** Sends requests over as many kept connections, one at a time on each. */
export class Load implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #connections: number;
  readonly #requests: readonly SignedRequest[];
  #sent = 0;

  /** `requests`: what is sent, each once. */
  constructor(origin: string, connections: number, requests: readonly SignedRequest[]) {
    this.#pool = new Pool(origin, { connections, pipelining: 1 });
    this.#connections = connections;
    this.#requests = requests;
  }

  /**
   * Keeps every connection busy for that long, or until nothing is left to send. Rejects when an answer is anything but
   * "taken": 200 without a body, as a body would tell the person that the request was not kept.
   */
  async run(durationMs: number): Promise<LoadResult> {
    const startedAt = performance.now();
    const latenciesMs: number[] = [];
    const connection = async () => {
      while (performance.now() - startedAt < durationMs) {
        const request = this.#next();
        if (request === undefined) return;
        latenciesMs.push(await this.#send(request));
      }
    };
    await Promise.all(Array.from({ length: this.#connections }, connection));
    return resultOf(latenciesMs, startedAt);
  }

  /** Sends bursts of one request per connection, all at once, the next when the last is answered, for that long. */
  async runBursts(durationMs: number, isIdentical: boolean): Promise<LoadResult> {
    const startedAt = performance.now();
    const latenciesMs: number[] = [];
    while (performance.now() - startedAt < durationMs) {
      const first = this.#next();
      if (first === undefined) break;
      const burst = Array.from({ length: this.#connections }, (_, n) =>
        isIdentical || n === 0 ? first : (this.#next() ?? first),
      );
      latenciesMs.push(...(await Promise.all(burst.map((request) => this.#send(request)))));
    }
    return resultOf(latenciesMs, startedAt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  #next(): SignedRequest | undefined {
    const request = this.#requests[this.#sent];
    this.#sent += 1;
    return request;
  }

  async #send({ headers, body }: SignedRequest): Promise<number> {
    const sentAt = performance.now();
    const answer = await this.#pool.request({ method: "POST", path: "/slack/events", headers, body });
    const said = await answer.body.text();
    if (answer.statusCode !== 200 || said !== "") {
      throw new Error(`A request was not taken: ${answer.statusCode} ${said.slice(0, 300)}`);
    }
    return performance.now() - sentAt;
  }
}

function resultOf(latenciesMs: number[], startedAt: number): LoadResult {
  return {
    perSecond: (latenciesMs.length / (performance.now() - startedAt)) * 1000,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
  };
}
