import type { z } from "zod";

/** A program's kinds of records: the type of each, by the kind's name. */
export type Kinds = Record<string, object>;
/** For a program that has tasks only. */
export type NoRecords = Record<never, never>;

export type KindOf<R extends Kinds> = keyof R & string;
/** The schema of each kind. The kind's name begins its keys in the store. */
export type SchemasOf<R extends Kinds> = { readonly [K in KindOf<R>]: z.ZodType<R[K]> };

/**
 * Records of one kind, by id. A record that can't be parsed is set aside and reads as absent.
 * Decisions that depend on a record's current state belong in `TaskQueue.commit`.
 */
export interface RecordStore<T> {
  get(id: string): Promise<T | undefined>;
  /**
   * Durable when it resolves. Rejects and writes nothing if the record doesn't fit its schema. The
   * record is gone after `ttlMs`.
   */
  set(id: string, record: T, ttlMs?: number): Promise<void>;
  delete(id: string): Promise<void>;
}

/** Reads records of all kinds. */
export interface RecordReader<R extends Kinds> {
  get<K extends KindOf<R>>(kind: K, id: string): Promise<R[K] | undefined>;
}

/**
 * Reads a record's current state during a decision. Undefined if there is none, or it can't be
 * parsed.
 */
export type ReadOf<R extends Kinds> = <K extends KindOf<R>>(kind: K, id: string) => R[K] | undefined;

/**
 * A record to write, or null to remove it. `ttlMs` is how long to keep it from now on; absent means
 * for good. With `keepsEnd` it takes the place of what the decision read, for as long as that would
 * have been kept. Where nothing is, nothing is written.
 */
export type WriteOf<R extends Kinds, K extends KindOf<R> = KindOf<R>> = {
  [P in K]: { kind: P; id: string; record: R[P] | null; ttlMs?: number; keepsEnd?: true };
}[K];
