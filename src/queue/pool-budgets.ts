/**
 * Kinds of tasks that share a budget of handlers, so that a kind that is stuck doesn't hold up the others. Where tasks name a share
 * (`NewTask.share`), each share of the pool has that budget. A name contains no space.
 */
export type Pools = { of: (type: string) => string; budgets: Readonly<Record<string, number>> };

/** The name of the pool that a task runs in: `<pool>`, or `<pool> <share>`. */
export function poolName(pools: Pick<Pools, "of">, type: string, share: string | null): string {
  const pool = pools.of(type);
  return share === null ? pool : `${pool} ${share}`;
}

/** How many tasks a pool may run at once: a share as many as its pool. Undefined: this version has no such pool. */
function budgetOf(budgets: Pools["budgets"], pool: string): number | undefined {
  return budgets[pool.split(" ")[0] ?? ""];
}

/** How many tasks each pool may run at once, and how many it holds now. */
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
    return Math.max(0, (budgetOf(this.#budgets, pool) ?? 0) - this.heldIn(pool));
  }

  /** How many tasks are held, by pool. */
  get all(): Record<string, number> {
    return Object.fromEntries(this.#held);
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
