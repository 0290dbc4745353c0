import { addAbortListener } from "node:events";

/** Runs one function at a time per key, in the order of the calls. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Resolves or rejects as `act` does. Waits for the earlier ones, which have their own time
   * limits. If the signal aborts while waiting, rejects with its reason and doesn't call `act`.
   * Once `act` runs, it must end by itself, because nobody else may have the key before.
   */
  async run<Result>(key: string, signal: AbortSignal, act: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const tail = before.then(() => over);
    this.#tails.set(key, tail);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    using _ = addAbortListener(signal, () => reject(signal.reason));
    try {
      await Promise.race([before, aborted]);
      signal.throwIfAborted();
      return await act();
    } finally {
      end();
    }
  }
}
