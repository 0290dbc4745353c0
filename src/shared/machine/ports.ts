/** Source of time: the machine's in production, one that tests move by hand in tests. */
export interface Clock {
  /**
   * Epoch milliseconds for everything that this program notes and waits for. Never jumps while the
   * program runs, even if somebody sets the machine's clock.
   */
  now(): number;
  /**
   * Epoch milliseconds as the machine's clock shows them, which may jump. For times that others
   * name, and that they are told.
   */
  wallMs(): number;
  /** Milliseconds that never go back, for durations. */
  monotonicMs(): number;
  /**
   * Calls `wake` once, as much later as `atMs` (by `now()`) is ahead, or at once. The returned
   * function cancels it.
   */
  wakeAt(atMs: number, wake: () => void): () => void;
}

/** Resolves like the promise, or to `late` if it takes longer than `ms`. */
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

/**
 * Writes structured log lines: a static message, and everything that varies in `fields`. Neither
 * may hold a secret or a person's text.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Returns a logger that adds `fields` to each line. */
  child(fields: object): Logger;
}

/** What was found out about one thing that the app needs. `found` says what, and what to do. */
export type StartFinding = { level: "ok" | "warn" | "FAULT"; name: string; found: string };
