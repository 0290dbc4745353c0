type Waiter = { projectId: string; limit: number; take: () => void };

/** Room for turns to run: so many of one project, and so many of all projects. Who waits longest and fits goes first. */
export class TurnSlots {
  readonly #total: number;
  readonly #taken = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();

  constructor(total: number) {
    this.#total = total;
  }

  /** Resolves to a function that gives the slot back, or to null once the slots are closed. */
  take(projectId: string, limit: number): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      const waiter = {
        projectId,
        limit,
        take: () => resolve(this.closed.aborted ? null : this.#occupy(projectId)),
      };
      this.#waiters.add(waiter);
      this.#handOut();
    });
  }

  /** How many turns run. */
  get taken(): number {
    return [...this.#taken.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Everyone who waits, now or later, gets null. */
  close(): void {
    this.#closing.abort();
    this.#handOut();
  }

  /** Aborts when the slots are closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  #occupy(projectId: string): () => void {
    this.#count(projectId, 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#count(projectId, -1);
      this.#handOut();
    };
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const taken = this.#taken.get(waiter.projectId) ?? 0;
      const hasRoom = taken < waiter.limit && this.taken < this.#total;
      if (!hasRoom && !this.closed.aborted) continue;
      this.#waiters.delete(waiter);
      waiter.take();
    }
  }

  #count(projectId: string, change: number): void {
    this.#taken.set(projectId, (this.#taken.get(projectId) ?? 0) + change);
  }
}
