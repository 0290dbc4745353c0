/** A short text to add at the end of a series. The newest `keep` of it stay; `ttlMs` after the last append all are gone. */
export type Append = { series: string; entry: string; keep: number; ttlMs: number };

/**
 * What many turns add to: a person's requests, or how long a project's turns took. An append reads nothing, so nobody
 * has to wait for, or repeat, what somebody else adds. A decision cannot read a series.
 */
export interface Series {
  /** Its entries, oldest first. */
  of(series: string): Promise<string[]>;
}
