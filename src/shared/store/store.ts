import type { RateLimiter } from "./rate-limiter.ts";
import type { Kinds, RecordReader } from "./record-types.ts";
import type { Series } from "./series.ts";

/** Everything a program stores. */
export interface Store<R extends Kinds> extends AsyncDisposable {
  readonly rateLimiter: RateLimiter;
  readonly series: Series;
  readonly records: RecordReader<R>;
  /** Records that were set aside, under `<kind>:<id>`. */
  readonly setAside: { delete(key: string): Promise<boolean> };
  /** Number of records set aside since the store was opened. */
  setAsideCount(): number;
  /**
   * What a crash, a power cut or a failover may cost, in words for the operator, as of the last
   * {@link check}. Null if nothing acknowledged can be lost.
   */
  readonly risk: string | null;
  /**
   * True if what is written has been on fewer machines than wanted for ten seconds. Nothing new
   * should be taken then, and `check` says why.
   */
  isUnsafe(): boolean;
  /**
   * Rejects with a `StoreUnavailableError` unless a value can be written now, and stays. Resolves
   * to what the operator has to know all the same, or to null.
   */
  check(): Promise<string | null>;
  /** Closes the store. Idempotent. Stop everything that uses the store first. */
  close(): Promise<void>;
}
