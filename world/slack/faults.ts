import type { Args } from "./web-api/args.ts";

/** A call the app made: a Web API method, or `response_url`. Tokens are never kept. */
export type Call = {
  readonly method: string;
  readonly args: Args;
  /** By the clock that the Slack side was given, epoch milliseconds. */
  readonly at: number;
  /** To whom the response URL that it came through was given. */
  readonly userId?: string;
  /**
   * `ok`, Slack's error word, or the kind of the fault that struck; absent while the call is under
   * way.
   */
  result?: string;
};

/**
 * What goes wrong with a call. Nothing takes effect unless it says so.
 *
 * - `ratelimited`: HTTP 429 with `Retry-After`
 * - `http`: this status and body; with `isDone`, after the call took effect
 * - `error`: `ok: false` with this error word
 * - `drop-before`: the connection breaks
 * - `drop-after`: the call takes effect, then the connection breaks without an answer
 * - `hang`: no answer until the Slack side closes
 * - `garbage`: HTTP 200 with a page that is no JSON
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
  /** A Web API method, `*` for all of them, or `response_url`. */
  method: string;
  /** How many calls it strikes. @default 1 */
  times?: number;
  /** Only calls for which this is true. */
  when?: (call: Call) => boolean;
  fault: Fault;
};

/** The faults that wait for calls, first added first. */
export class Faults {
  #rules: (FaultRule & { left: number })[] = [];

  /** The returned function takes the rule back; calls it has struck already stay struck. */
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

  /** The fault that strikes this call, counted as used. */
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
