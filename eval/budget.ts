import { type TaskRun, tokensOf } from "./report-schema.ts";
import type { EvalSettings } from "./settings.ts";

/**
 * What an evaluation may still use. Each run reserves what it may use at most, so that all together
 * stay within the whole, whatever they do.
 */
export class Budget {
  readonly #each: number;
  readonly #usedBy: (run: TaskRun) => number;
  #left: number;
  #running = 0;
  #waiting: (() => void)[] = [];

  constructor({ maxUsd, maxTokens, budget }: EvalSettings, done: readonly TaskRun[]) {
    const each = "usd" in budget ? budget.usd : budget.tokens;
    this.#each = each;
    // A run whose cost isn't known counts as one that used all it had.
    this.#usedBy = "usd" in budget ? ({ usd }) => usd ?? each : tokensOf;
    this.#left = (maxUsd ?? maxTokens ?? 0) - done.reduce((sum, run) => sum + this.#usedBy(run), 0);
  }

  /** Waits for what runs may give back. Resolves to false if there isn't enough left for a run. */
  async reserve(): Promise<boolean> {
    while (this.#left < this.#each) {
      if (this.#running === 0) return false;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#left -= this.#each;
    this.#running += 1;
    return true;
  }

  /**
   * Returns the part that a run didn't use. With null, the run goes on later, and may use the rest.
   */
  settle(run: TaskRun | null): void {
    this.#running -= 1;
    if (run !== null) this.#left += this.#each - this.#usedBy(run);
    for (const look of this.#waiting.splice(0)) look();
  }
}
