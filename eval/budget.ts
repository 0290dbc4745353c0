import { type TaskRun, tokensOf } from "./report-schema.ts";
import type { EvalSettings } from "./settings.ts";

/**
 * The rest of an evaluation's budget. Each run first reserves the most that it may use, so all runs
 * together stay within the budget, whatever they do.
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
    // A run whose cost isn't known counts as if it had used all that it reserved.
    this.#usedBy = "usd" in budget ? ({ usd }) => usd ?? each : tokensOf;
    this.#left = (maxUsd ?? maxTokens ?? 0) - done.reduce((sum, run) => sum + this.#usedBy(run), 0);
  }

  /**
   * Reserves a run's part. If too little is left, it waits for what running runs give back. If no
   * run is left that could give something back, it resolves to false.
   */
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
   * Gives back the part that a run didn't use. With null, the run goes on later and keeps its part.
   */
  settle(run: TaskRun | null): void {
    this.#running -= 1;
    if (run !== null) this.#left += this.#each - this.#usedBy(run);
    for (const look of this.#waiting.splice(0)) look();
  }
}
