/** Callers that wait for the same thing to happen. */
export class Waiters {
  #resolves: Array<() => void> = [];

  /** Resolves at the next {@link resolveAll}. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolves.push(resolve);
    });
  }

  get isEmpty(): boolean {
    return this.#resolves.length === 0;
  }

  resolveAll(): void {
    const resolves = this.#resolves;
    this.#resolves = [];
    for (const resolve of resolves) resolve();
  }
}
