import { z } from "zod";
import { recordSchemas } from "../core/ports/records.ts";
import { DocsAgentError } from "../core/errors.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";

/** The state cannot be dumped or loaded. The message is for the operator, with the remedy. */
export class StateError extends DocsAgentError {
  readonly code = "state";
}

/**
 * A record of any kind, also one that was set aside. `id`: its kind, a colon, and its own id. Times
 * are epoch milliseconds.
 */
const RecordEntry = z.strictObject({
  kind: z.literal("record"),
  id: z.string(),
  text: z.string(),
  expiresAt: z.int().nullable(),
});

/** A series, its entries oldest first. `expiresAt`: when the last of them is over. */
const SeriesEntry = z.strictObject({
  kind: z.literal("series"),
  id: z.string(),
  entries: z.array(z.string()),
  expiresAt: z.int(),
});

/** A task that waits, or that was given up. */
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
  /** When it was given up; null: it waits. */
  endedAt: z.int().nullable(),
  reason: z
    .string()
    .nullable()
    .transform((text) => text || null),
  /** What an add that came while it ran says of its next run. */
  nextPayload: z.string().nullable(),
  nextDueAt: z.int().nullable(),
});
export type TaskEntry = z.infer<typeof TaskEntry>;

/** A done task whose id stays known. */
const DoneEntry = z.strictObject({ kind: z.literal("done"), id: z.string(), endedAt: z.int() });

/** One line of a dump. */
export const Entry = z.discriminatedUnion("kind", [RecordEntry, SeriesEntry, TaskEntry, DoneEntry]);
export type Entry = z.infer<typeof Entry>;

/** The kinds of records that a dump holds, as their keys begin. */
export const RECORD_KINDS: readonly string[] = [...Object.keys(recordSchemas), "set-aside"];

/** A store as a dump and a load see it. Methods reject with an error that says what to do. */
export interface Side extends AsyncDisposable {
  /** For the operator: without user and password. */
  readonly name: string;
  /** Rejects when an app uses it, as far as that can be seen. */
  assertUnused(): Promise<void>;
  /** Whether a load of it has begun and not finished. No app starts on it then. */
  isHalfLoaded(): Promise<boolean>;
  markHalfLoaded(isHalf: boolean): Promise<void>;
  /** All entries, each once, and also those whose time is over. */
  entries(): AsyncIterable<Entry>;
  /** Each is there then exactly as given. */
  put(entries: readonly Entry[]): Promise<void>;
  /** Removes all entries. */
  clear(): Promise<void>;
}

/** When an entry is over, epoch milliseconds; Infinity: it stays. */
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
