import type { Args } from "./web-api/args.ts";

/** A call that the app made: a Web API method, or `response_url`. Tokens are never kept. */
export type Call = {
  readonly method: string;
  readonly args: Args;
  /** Epoch milliseconds by the clock that the stand-in was given. */
  readonly at: number;
  /** The person to whom the response URL of the call was given. */
  readonly userId?: string;
  /**
   * The result: `ok`, Slack's error word, or the kind of the fault that the call met. It is absent
   * until the call has ended.
   */
  result?: string;
};

/**
 * A fault that a call meets. Nothing takes effect unless it says so.
 *
 * - `ratelimited`: HTTP 429 with `Retry-After`
 * - `http`: this status and body, after the call took effect if `isDone` is set
 * - `error`: `ok: false` with this error word
 * - `drop-before`: the connection breaks
 * - `drop-after`: the call takes effect, then the connection breaks without an answer
 * - `hang`: no answer until the stand-in closes
 * - `garbage`: HTTP 200 with a page that isn't JSON
 */
export type Fault =
  | { kind: "ratelimited"; retryAfterS: number }
  | { kind: "http"; status: number; body?: string; isDone?: boolean }
  | { kind: "error"; error: string }
  | { kind: "drop-before" }
  | { kind: "drop-after" }
  | { kind: "hang" }
  | { kind: "garbage" };

export type FaultRule = {
  /** A Web API method, `response_url`, or `*` for all of them. */
  method: string;
  /** The number of calls that meet it. @default 1 */
  times?: number;
  /** Only calls that fulfill this condition meet it. */
  when?: (call: Call) => boolean;
  fault: Fault;
};

/** The faults that wait for calls. The one that was added first applies first. */
export class Faults {
  #rules: (FaultRule & { left: number })[] = [];

  /**
   * Adds a rule. The returned function removes it, which changes nothing for calls that have met
   * it.
   */
  add(rule: FaultRule): () => void {
    const added = { ...rule, left: rule.times ?? 1 };
    this.#rules.push(added);
    return () => {
      this.#rules = this.#rules.filter((other) => other !== added);
    };
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns the fault that this call meets, and counts it as used. */
  take(call: Call): Fault | undefined {
    const rule = this.#rules.find((candidate) => candidate.left > 0 && matches(candidate, call));
    if (rule === undefined) return undefined;
    rule.left -= 1;
    return rule.fault;
  }
}

function matches(rule: FaultRule, call: Call): boolean {
  const isNamed = rule.method === call.method || (rule.method === "*" && call.method !== "response_url");
  return isNamed && (rule.when?.(call) ?? true);
}
