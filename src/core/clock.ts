/** Time, injected: the system's in production, one that tests move by hand in tests. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `wake` once, at or after `atMs` (epoch milliseconds), unless the returned function is called first. */
  wakeAt(atMs: number, wake: () => void): () => void;
}
