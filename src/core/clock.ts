/** Time, injected: the system's in production, one that tests move by hand in tests. */
export interface Clock {
  /** Epoch milliseconds, as the machine's clock has it: it may be set back or forward. */
  now(): number;
  /** Milliseconds that only ever go forward: for durations. */
  monotonicMs(): number;
  /** Calls `wake` once, at or after `atMs` (epoch milliseconds), unless the returned function is called first. */
  wakeAt(atMs: number, wake: () => void): () => void;
}
