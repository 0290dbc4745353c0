type Place = { projectId: string };
type Waiter = Place & { limit: number; signal: AbortSignal; give: (release: (() => void) | null) => void };

/**
 * Limits how many turns run at once, per project and in total. Whoever has waited longest and fits
 * goes first.
 */
export class TurnPlaces {
  readonly #total: number;
  readonly #taken = new Set<Place>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();

  constructor(total: number) {
    this.#total = total;
  }

  /**
   * Resolves to a function that gives the place back, or to null once the places are closed or the
   * signal has aborted.
   */
  take(waiting: Place & { limit: number; signal: AbortSignal }): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      this.#waiters.add({ ...waiting, give: resolve });
      waiting.signal.addEventListener("abort", () => this.#handOut());
      this.#handOut();
    });
  }

  /** The number of running turns. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Everyone who waits, now or later, gets null. */
  close(): void {
    this.#closing.abort();
    this.#handOut();
  }

  /** Aborts when the places are closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  #occupy(place: Place): () => void {
    this.#taken.add(place);
    return () => {
      if (this.#taken.delete(place)) this.#handOut();
    };
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const isOver = waiter.signal.aborted || this.closed.aborted;
      if (isOver || this.#hasRoom(waiter)) {
        this.#waiters.delete(waiter);
        waiter.give(isOver ? null : this.#occupy(waiter));
      }
    }
  }

  #hasRoom({ projectId, limit }: Waiter): boolean {
    if (this.taken >= this.#total) return false;
    return [...this.#taken].filter((place) => place.projectId === projectId).length < limit;
  }
}
