/** Runs one thing at a time per key, in the order of asking. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>();

  /**
   * Resolves or rejects as `act` does. Waits as long as those before it take, which are bounded by their own limits; rejects with
   * the signal's reason, and does nothing, when that aborts meanwhile.
   */
  async run<Result>(key: string, signal: AbortSignal, act: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = before.then(() => {
      signal.throwIfAborted();
      return act();
    });
    const tail = mine.catch(() => {});
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    let isOurs = false;
    void before.then(() => (isOurs = true));
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    // Once it runs, it ends by itself: nobody may have the key before that.
    const stop = () => (isOurs ? undefined : reject(signal.reason));
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([mine, aborted]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}
