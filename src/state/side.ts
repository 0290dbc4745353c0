import { z } from "zod";
import { recordSchemas } from "../core/records.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";
import { deserialize, serialize } from "../store/keyv.ts";

/** A record of any kind, also one that was set aside. `id`: its kind, a colon, and its own id. Times are epoch milliseconds. */
const RecordEntry = z.strictObject({
  kind: z.literal("record"),
  id: z.string(),
  text: z.string(),
  expiresAt: z.int().nullable(),
});
export type RecordEntry = z.infer<typeof RecordEntry>;

/** A series, its entries oldest first. */
const SeriesEntry = z.strictObject({
  kind: z.literal("series"),
  id: z.string(),
  entries: z.array(z.string()),
  /** When the last of them is over. */
  expiresAt: z.int(),
});
export type SeriesEntry = z.infer<typeof SeriesEntry>;

/** A task that waits, or that was given up. */
const TaskEntry = z.strictObject({
  kind: z.literal("task"),
  id: z.string(),
  state: z.enum(["live", "dead"]),
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
  reason: z.string().nullable(),
  /** What an add that came while it ran says of its next run. */
  nextPayload: z.string().nullable(),
  nextDueAt: z.int().nullable(),
});
export type TaskEntry = z.infer<typeof TaskEntry>;

/** A done task whose id stays known. */
const DoneEntry = z.strictObject({ kind: z.literal("done"), id: z.string(), endedAt: z.int() });
export type DoneEntry = z.infer<typeof DoneEntry>;

/** One line of a dump. */
export const Entry = z.discriminatedUnion("kind", [RecordEntry, SeriesEntry, TaskEntry, DoneEntry]);
export type Entry = z.infer<typeof Entry>;
export type EntryKey = Pick<Entry, "kind" | "id">;

/** The kinds of records that a dump holds, as their keys begin. */
export const RECORD_KINDS: readonly string[] = [...Object.keys(recordSchemas), "set-aside"];

/** How many entries are in memory at once. */
export const PAGE_SIZE = 250;

/** Where state is dumped from. Methods reject with an error that says what to do. */
export interface Source extends AsyncDisposable {
  /** For the operator: without user and password. */
  readonly name: string;
  /** Rejects when an app uses it, as far as that can be seen. */
  assertUnused(): Promise<void>;
  /** Whether a load of it has begun and not finished. */
  isHalfLoaded(): Promise<boolean>;
  /** About how many entries there are. */
  count(): Promise<number>;
  /** All entries, each once, and also those whose time is over. */
  pages(): AsyncIterable<Entry[]>;
}

/** Where state is loaded to. */
export interface Target extends Source {
  /** From now on no app starts on it; or, with false, one does again. */
  markHalfLoaded(isHalf: boolean): Promise<void>;
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

/** A stored text in the form that both backends can take. One that is damaged reads the same on both: it is set aside with what it was. */
export function movableText(text: string): string {
  return text.startsWith('{"value":') ? text : serialize(deserialize(text));
}
