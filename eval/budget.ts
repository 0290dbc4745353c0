import { type TaskRun, tokensOf } from "./report-schema.ts";
import type { EvalSettings } from "./settings.ts";

/**
 * What an evaluation may still use. Each run reserves what it may use at most, so that all together
 * stay within the whole, whatever they do.
 */
export class Budget {
  readonly #of: (run: TaskRun) => number;
  readonly #each: number;
  #left: number;

  constructor({ maxUsd, maxTokens, budget }: EvalSettings, done: readonly TaskRun[]) {
    // A run whose cost isn't known counts as one that used all it had.
    this.#each = "usd" in budget ? budget.usd : budget.tokens;
    this.#of = "usd" in budget ? ({ usd }) => usd ?? this.#each : tokensOf;
    this.#left = (maxUsd ?? maxTokens ?? 0) - done.reduce((sum, run) => sum + this.#of(run), 0);
  }

  /** False: there isn't enough left for a run. */
  reserve(): boolean {
    if (this.#left < this.#each) return false;
    this.#left -= this.#each;
    return true;
  }

  /** Gives back what a run didn't use. */
  settle(run: TaskRun): void {
    this.#left += this.#each - this.#of(run);
  }
}
