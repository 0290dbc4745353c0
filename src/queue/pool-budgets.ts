/**
 * Kinds of tasks that share a budget of handlers, so that a kind that is stuck doesn't hold up the others. Where tasks name a share
 * (`NewTask.share`), each share of the pool has that budget. A name contains no space.
 */
export type Pools = { of: (type: string) => string; budgets: Readonly<Record<string, number>> };

/** How many tasks each pool may run at once, and how many it holds now. Pools are named as the table names them. */
export class PoolBudgets {
  readonly #budgets: Pools["budgets"];
  readonly #held = new Map<string, number>();

  constructor(budgets: Pools["budgets"]) {
    this.#budgets = budgets;
  }

  /** How many tasks of the pool are held. */
  heldIn(pool: string): number {
    return this.#held.get(pool) ?? 0;
  }

  /** How many more the pool may run; never below 0. */
  roomIn(pool: string): number {
    // `<pool> <share>`: a share has the budget of its pool.
    const budget = this.#budgets[pool.split(" ")[0] ?? ""] ?? 0;
    return Math.max(0, budget - this.heldIn(pool));
  }

  hold(pool: string): void {
    this.#held.set(pool, this.heldIn(pool) + 1);
  }

  release(pool: string): void {
    this.#held.set(pool, this.heldIn(pool) - 1);
  }

  releaseAll(): void {
    this.#held.clear();
  }
}
