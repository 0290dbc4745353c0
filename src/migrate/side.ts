import { isDeepStrictEqual } from "node:util";
import { recordSchemas } from "../core/records.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";
import { deserialize, serialize } from "../store/keyv.ts";

/** A record of any kind, also one that was set aside. `id`: its kind, a colon, and its own id. Times are epoch milliseconds. */
export type RecordEntry = { kind: "record"; id: string; text: string; expiresAt: number | null };

/** A task that waits, or that was given up. */
export type TaskEntry = {
  kind: "task";
  id: string;
  state: "live" | "dead";
  type: string;
  pool: string;
  known: string;
  payload: string;
  dueAt: number;
  attempt: number;
  surprises: number;
  deaths: number;
  addedAt: number;
  /** When it was given up; null: it waits. */
  endedAt: number | null;
  reason: string | null;
  /** What an add that came while it ran says of its next run. */
  nextPayload: string | null;
  nextDueAt: number | null;
};

/** A done task whose id stays known. */
export type DoneEntry = { kind: "done"; id: string; endedAt: number };

/** What is moved, one by one. */
export type Entry = RecordEntry | TaskEntry | DoneEntry;
export type EntryKey = Pick<Entry, "kind" | "id">;

/** The kinds of records that are moved, as their keys begin. */
export const RECORD_KINDS: readonly string[] = [...Object.keys(recordSchemas), "set-aside"];

/** How many entries are in memory at once, on each side. */
export const PAGE_SIZE = 250;

/** One side of a migration. Methods reject with an error that says what to do. */
export interface Side extends AsyncDisposable {
  /** For the operator: without user and password. */
  readonly name: string;
  /** The unfinished migration that it is the target of, as "from …"; null: there is none. */
  migration(): Promise<string | null>;
  /** About how many entries there are. */
  count(): Promise<number>;
  /** All entries, some perhaps twice, and also those whose time is over. */
  pages(): AsyncIterable<Entry[]>;
  /** Those that are there, by {@link keyText}. */
  find(keys: readonly EntryKey[]): Promise<Map<string, Entry>>;
  /** Rejects when an app uses it, as far as that can be seen. */
  assertUnused(): Promise<void>;
}

/** Where entries come from. Nothing changes it. */
export interface Source extends Side {
  /** From now on, until it is disposed of, no app starts on it. `migration`: "to …". */
  hold(migration: string): Promise<void>;
}

/** Where entries go. */
export interface Target extends Side {
  /** Notes that it is the target of a migration: no app starts on it. Null: of none any more. */
  note(migration: string | null): Promise<void>;
  /** Each is there then exactly as given. */
  put(entries: readonly Entry[]): Promise<void>;
  remove(keys: readonly EntryKey[]): Promise<void>;
}

export function keyText({ kind, id }: EntryKey): string {
  return `${kind} ${id}`;
}

export function isSame(a: Entry | undefined, b: Entry): boolean {
  return isDeepStrictEqual(a, b);
}

/** Whether an entry counts for nothing any more: the next sweep removes it. */
export function isOver(entry: Entry, nowMs: number): boolean {
  switch (entry.kind) {
    case "record":
      return entry.expiresAt !== null && entry.expiresAt <= nowMs;
    case "done":
      return entry.endedAt + KEEP_DONE_MS <= nowMs;
    case "task":
      return false;
  }
}

/** A stored text in the form that both sides can take. One that is damaged reads the same on both: it is set aside with what it was. */
export function movableText(text: string): string {
  return text.startsWith('{"value":') ? text : serialize(deserialize(text));
}
