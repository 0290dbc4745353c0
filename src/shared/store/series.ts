/**
 * A short text to add to the end of a series. The newest `keep` entries stay. An entry may
 * be gone `ttlMs` after its append; all are, `ttlMs` after the last one.
 */
export type Append = { series: string; entry: string; keep: number; ttlMs: number };

/**
 * Lists that many turns add to, such as a person's requests or how long a project's turns took. An
 * append reads nothing, so it never conflicts with another. Decisions can't read a series.
 */
export interface Series {
  /** Returns its entries, oldest first. */
  of(series: string): Promise<string[]>;
  /** Removes all its entries. Durable when it resolves. */
  remove(series: string): Promise<void>;
}
