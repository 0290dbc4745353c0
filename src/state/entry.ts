import { z } from "zod";
import { recordSchemas } from "../core/ports/records.ts";
import { DocsAgentError } from "../core/errors.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";

/** The state can't be dumped or loaded. The message tells the operator what to do. */
export class StateError extends DocsAgentError {
  readonly code = "state";
}

/**
 * A record of any kind, including ones that were set aside. `id` is its kind, a colon, and its own
 * id. Times are epoch milliseconds.
 */
const RecordEntry = z.strictObject({
  kind: z.literal("record"),
  id: z.string(),
  text: z.string(),
  expiresAt: z.int().nullable(),
});

/** A series with its entries, oldest first. `expiresAt` is when the last of them expires. */
const SeriesEntry = z.strictObject({
  kind: z.literal("series"),
  id: z.string(),
  entries: z.array(z.string()),
  expiresAt: z.int(),
});

/** A waiting or abandoned task. */
export const TaskEntry = z.strictObject({
  kind: z.literal("task"),
  id: z.string(),
  state: z.enum(["waiting", "dead"]),
  type: z.string(),
  pool: z.string(),
  known: z.string(),
  payload: z.string(),
  dueAt: z.int(),
  attempt: z.int(),
  surprises: z.int(),
  deaths: z.int(),
  addedAt: z.int(),
  /** When it was given up. Null if it is waiting. */
  endedAt: z.int().nullable(),
  reason: z
    .string()
    .nullable()
    .transform((text) => text || null),
  /** The payload and time of its next run, from an add made while it ran. */
  nextPayload: z.string().nullable(),
  nextDueAt: z.int().nullable(),
});
export type TaskEntry = z.infer<typeof TaskEntry>;

/** A done task whose id stays known. */
const DoneEntry = z.strictObject({ kind: z.literal("done"), id: z.string(), endedAt: z.int() });

/** One line of a dump. */
export const Entry = z.discriminatedUnion("kind", [RecordEntry, SeriesEntry, TaskEntry, DoneEntry]);
export type Entry = z.infer<typeof Entry>;

/** The kinds of records in a dump. Their keys begin with these. */
export const RECORD_KINDS: readonly string[] = [...Object.keys(recordSchemas), "set-aside"];

/**
 * A store from the point of view of a dump or load. Methods reject with an error that says what to
 * do.
 */
export interface Side extends AsyncDisposable {
  /** The store's name for the operator, without user and password. */
  readonly name: string;
  /** Rejects if an app is using it, as far as we can see. */
  assertUnused(): Promise<void>;
  /** Resolves to true if a load of it is unfinished. No app starts on it in that state. */
  isHalfLoaded(): Promise<boolean>;
  markHalfLoaded(isHalf: boolean): Promise<void>;
  /** Yields every entry once, including expired ones. */
  entries(): AsyncIterable<Entry>;
  /** Stores the entries exactly as given. */
  put(entries: readonly Entry[]): Promise<void>;
  clear(): Promise<void>;
}

/** When an entry expires, epoch milliseconds. Infinity if it stays. */
export function overAt(entry: Entry): number {
  switch (entry.kind) {
    case "record":
      return entry.expiresAt ?? Infinity;
    case "series":
      return entry.expiresAt;
    case "done":
      return entry.endedAt + KEEP_DONE_MS;
    case "task":
      return Infinity;
  }
}
