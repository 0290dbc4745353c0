/** Runs one thing at a time per key, in the order of asking. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `act` does. Waits as long as those before it take; they are bounded by their own limits. */
  async run<Result>(key: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = before.then(act, act);
    const tail = mine.catch(() => {});
    this.#tails.set(key, tail);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
