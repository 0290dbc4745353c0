/** Time, injected: the system's in production, one that tests move by hand in tests. */
export interface Clock {
  /** Epoch milliseconds, as the machine's clock has it: it may be set back or forward. */
  now(): number;
  /** Milliseconds that only ever go forward: for durations. */
  monotonicMs(): number;
  /**
   * Calls `wake` once, at `atMs` (epoch milliseconds) or later. The returned function cancels it.
   */
  wakeAt(atMs: number, wake: () => void): () => void;
}

/** What a promise comes to; `late` if that takes longer than `ms`. */
export async function within<T, Late>(
  clock: Pick<Clock, "now" | "wakeAt">,
  ms: number,
  promise: Promise<T>,
  late: Late,
): Promise<T | Late> {
  let cancel = () => {};
  const timeIsUp = new Promise<Late>((resolve) => {
    cancel = clock.wakeAt(clock.now() + ms, () => resolve(late));
  });
  try {
    return await Promise.race([promise, timeIsUp]);
  } finally {
    cancel();
  }
}
