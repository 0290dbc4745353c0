import picomatch from "picomatch";
import { type CallUsage, combined, NO_USAGE } from "./answer-usage.ts";

/**
 * The most that a turn may use. Null means no limit. With `countsMoney`, its cost counts elsewhere,
 * too, so it has to be known.
 */
export type Budget = { tokens: number | null; usd: number | null; countsMoney?: boolean };

/** What earlier attempts of a turn used of its budget. */
export type UsedBefore = { tokens: number; usd: number };

/**
 * `onExceeded` is called with a sentence for people when the budget is exceeded. The other is
 * called whenever a call has ended.
 */
export type BudgetEvents = { onExceeded: (reason: string) => void; onCounted?: () => void };

/** The tokens of a call and their price. The price is null if it isn't known. */
export type Spending = CallUsage & { usd: number | null };

/** A call in progress. `settle` ends it. Later updates are ignored. */
export type Charge = { update(spending: Spending): void; settle(spending: Spending): void };

type OpenCall = { reserved: Spending; seen: Spending };
type Waiting = { reserved: Spending; admit: (charge: Charge | null) => void };

const NOTHING: Spending = { ...NO_USAGE, usd: 0 };

/**
 * Counts what a turn's model calls use, and keeps them within the budget.
 *
 * A call starts if what was used, what calls under way are expected to use, and what it is expected
 * to use itself fit; or if no other is under way. Otherwise it waits for others to end. So a turn
 * exceeds its budget by at most what its last call uses, and by what calls beside it use more than
 * was expected.
 */
export class TurnBudget {
  readonly #budget: Budget;
  readonly #events: BudgetEvents;
  readonly #before: UsedBefore;
  readonly #open = new Set<OpenCall>();
  #waiting: Waiting[] = [];
  #settled: Spending = NOTHING;
  #calls = 0;
  #reason: string | null = null;

  constructor(budget: Budget, events: BudgetEvents, before: UsedBefore = { tokens: 0, usd: 0 }) {
    this.#budget = budget;
    this.#events = events;
    this.#before = before;
  }

  /** Why no further call may start, or null if one may. */
  get reason(): string | null {
    return this.#reason;
  }

  /** True if money is counted, so that each call needs a price. */
  get isInMoney(): boolean {
    return this.#budget.usd !== null || this.#budget.countsMoney === true;
  }

  /**
   * The calls of this attempt so far and their usage. For calls in progress, this is what is known
   * so far.
   */
  usage(): { calls: number } & Spending {
    return { calls: this.#calls, ...this.#used() };
  }

  /**
   * Waits until a call may start. Resolves to null if it may not (see `reason`) or it was aborted.
   */
  admit(reserved: Spending, signal: AbortSignal): Promise<Charge | null> {
    const { promise, resolve } = Promise.withResolvers<Charge | null>();
    const waiting = { reserved, admit: resolve };
    signal.addEventListener("abort", () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      resolve(null);
      this.#next();
    });
    if (signal.aborted) resolve(null);
    else this.#waiting.push(waiting);
    this.#next();
    return promise;
  }

  #next(): void {
    this.#reason ??= this.#exceededReason();
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      if (this.#reason === null && this.#open.size > 0 && !this.#fits(first.reserved)) return;
      this.#waiting.shift();
      first.admit(this.#reason === null ? this.#start(first.reserved) : null);
    }
  }

  #start(reserved: Spending): Charge {
    const call = { reserved, seen: NOTHING };
    this.#open.add(call);
    this.#calls += 1;
    return {
      update: (spending) => {
        if (!this.#open.has(call)) return;
        call.seen = spending;
        this.#next();
      },
      settle: (spending) => {
        if (!this.#open.delete(call)) return;
        this.#settled = sum(this.#settled, spending);
        this.#events.onCounted?.();
        this.#next();
      },
    };
  }

  #used(): Spending {
    return [...this.#open].map(({ seen }) => seen).reduce(sum, this.#settled);
  }

  #fits(reserved: Spending): boolean {
    let tokens = this.#before.tokens + tokensOf(this.#settled) + tokensOf(reserved);
    let usd = this.#before.usd + (this.#settled.usd ?? 0) + (reserved.usd ?? 0);
    for (const call of this.#open) {
      tokens += Math.max(tokensOf(call.reserved), tokensOf(call.seen));
      usd += Math.max(call.reserved.usd ?? 0, call.seen.usd ?? 0);
    }
    const { tokens: maxTokens, usd: maxUsd } = this.#budget;
    return (maxTokens === null || tokens <= maxTokens) && (maxUsd === null || usd <= maxUsd);
  }

  #exceededReason(): string | null {
    const { tokens, usd } = this.#budget;
    const used = this.#used();
    const usedTokens = this.#before.tokens + tokensOf(used);
    let limit: string | null = null;
    if (tokens !== null && usedTokens >= tokens) limit = `${tokens.toLocaleString("en-US")} tokens`;
    else if (usd !== null && this.#before.usd + (used.usd ?? 0) >= usd) limit = `$${usd.toFixed(2)}`;
    if (limit === null) return null;
    const reason = `The request's budget of ${limit} is used up.`;
    this.#events.onExceeded(reason);
    return reason;
  }
}

function tokensOf({ inputTokens, outputTokens }: CallUsage): number {
  return inputTokens + outputTokens;
}

function sum(a: Spending, b: Spending): Spending {
  const usd = a.usd === null || b.usd === null ? null : a.usd + b.usd;
  return { ...combined(a, b, (one, other) => one + other), usd };
}

/** US dollars per million tokens. */
export type ModelPrice = { input: number; output: number; cachedInput?: number | undefined };
/** By a model's name, or by a pattern for names, such as `gpt-5*`. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/**
 * The price of a model, by its name or by the first pattern that fits. Ignores case, because the
 * provider may, too. Null if no price is known.
 */
export function priceOf(prices: PriceTable, model: string): ModelPrice | null {
  const exact = Object.entries(prices).find(([name]) => name.toLowerCase() === model.toLowerCase());
  if (exact !== undefined) return exact[1];
  // Like in a shell's `case`, a star also matches the slashes of a name.
  const fitting = Object.entries(prices).find(([pattern]) =>
    picomatch(pattern, { bash: true, dot: true, nocase: true })(model),
  );
  return fitting?.[1] ?? null;
}

/** The cost of a call, in US dollars. */
export function costUsdOf(usage: CallUsage, price: ModelPrice): number {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const dollarsPerMillion =
    (usage.inputTokens - cached + usage.surchargeTokens) * price.input +
    cached * (price.cachedInput ?? price.input) +
    usage.outputTokens * price.output;
  return dollarsPerMillion / 1e6;
}
