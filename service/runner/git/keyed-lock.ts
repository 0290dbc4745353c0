/** Runs one thing at a time per key, in the order of asking. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Resolves or rejects as `act` does. Waits as long as those before it take, which are bounded by
   * their own limits; rejects with the signal's reason, and does nothing, when that aborts
   * meanwhile. Once it runs, it ends by itself: nobody may have the key before that.
   */
  async run<Result>(key: string, signal: AbortSignal, act: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const tail = before.then(() => over);
    this.#tails.set(key, tail);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([before, aborted]);
      signal.throwIfAborted();
      return await act();
    } finally {
      signal.removeEventListener("abort", stop);
      end();
    }
  }
}
