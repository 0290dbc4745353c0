import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { DocsAgentError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { recordSchemas } from "../rules/records.ts";
import { jsonOf } from "../../shared/text/text.ts";
import { KEEP_DONE_MS } from "../../shared/queue/storable-task.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";

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
function overAt(entry: Entry): number {
  if (entry.kind === "done") return entry.endedAt + KEEP_DONE_MS;
  return entry.kind === "task" ? Infinity : (entry.expiresAt ?? Infinity);
}

/** The version of the format, in a dump's first line. A reader refuses any other version. */
const DUMP_VERSION = 1;
const First = z.object({ docsAgentState: z.int() });

/**
 * The last line: the number of entries of each kind, and a checksum that doesn't depend on their
 * order.
 */
const Totals = z.strictObject({
  records: z.int(),
  series: z.int(),
  tasks: z.int(),
  done: z.int(),
  checksum: z.string(),
});
export type Totals = z.infer<typeof Totals>;
const Last = z.strictObject({ totals: Totals });
const COUNTED = { record: "records", series: "series", task: "tasks", done: "done" } as const;

/** Number of entries written at once. */
const PAGE_SIZE = 250;
/** Entries that expire within this time after the load began may be missing when it is checked. */
const LASTS_MS = 24 * 60 * 60_000;

/** Reports progress now and then. */
export type Progress = (what: string, done: number) => void;

type DumpOptions = {
  source: Side;
  clock: Clock;
  progress: Progress;
  /** Resolves when the next line may be written. */
  writeLine: (line: string) => Promise<void>;
};

/**
 * Writes everything in a store as lines of JSON. The first line names the format and the last one
 * the totals; without its last line, a dump is incomplete. Rejects if an app is using the store.
 */
export async function dump({ source, clock, progress, writeLine }: DumpOptions): Promise<Totals> {
  await source.assertUnused();
  if (await source.isHalfLoaded()) {
    throw new StateError(
      `The load of another dump into ${source.name} hasn't finished. Load a whole dump into it first.`,
    );
  }
  await writeLine(JSON.stringify({ docsAgentState: DUMP_VERSION }));
  const tally = new Tally();
  for await (const entry of source.entries()) {
    // Expired entries don't count, because the next sweep would remove them.
    if (overAt(entry) <= clock.now()) continue;
    progress("Dumped", tally.add(entry));
    await writeLine(lineOf(entry));
  }
  // An app that was started meanwhile may have changed entries already read.
  await source.assertUnused();
  await writeLine(JSON.stringify({ totals: tally.totals }));
  return tally.totals;
}

type LoadOptions = { target: Side; clock: Clock; progress: Progress; lines: AsyncIterable<string> };

/**
 * Loads a dump into an empty store and reads it back. From its beginning until that has finished,
 * no app starts on the store, whatever ends it. A load that broke off may be repeated, and starts
 * over. Rejects if the store isn't empty or is in use, or if the dump is incomplete.
 */
export async function load({ target, clock, progress, lines }: LoadOptions): Promise<Totals> {
  await target.assertUnused();
  if (await target.isHalfLoaded()) await target.clear();
  else await claimEmpty(target);
  const lastsAfter = clock.now() + LASTS_MS;
  const read = new Tally();
  const written = new Tally();
  const shortLived = new Set<string>();
  let page: Entry[] = [];
  async function put(): Promise<void> {
    await target.put(page);
    page = [];
  }
  let totals: Totals | null = null;
  for await (const line of dumped(lines)) {
    if (totals !== null) throw damaged("something follows its last line");
    const last = Last.safeParse(line);
    if (last.success) {
      ({ totals } = last.data);
      continue;
    }
    const { data: entry } = Entry.safeParse(line);
    if (entry === undefined) throw damaged("a line isn't an entry of this format");
    progress("Loaded", read.add(entry));
    if (overAt(entry) > lastsAfter) written.add(comparable(entry));
    else shortLived.add(keyOf(entry));
    if (overAt(entry) > clock.now()) page.push(entry);
    if (page.length === PAGE_SIZE) await put();
  }
  await put();
  if (totals === null) throw damaged("its last line is missing");
  if (!isDeepStrictEqual(totals, read.totals)) throw damaged("its lines don't add up to its last one");

  const found = new Tally();
  for await (const entry of target.entries()) {
    if (!shortLived.has(keyOf(entry))) progress("Read back", found.add(comparable(entry)));
  }
  await target.assertUnused();
  if (!isDeepStrictEqual(found.totals, written.totals)) {
    throw new StateError(
      `${target.name} doesn't hold what was put there. ` +
        "Make sure that nothing else uses it, and load the dump again.",
    );
  }
  await target.markHalfLoaded(false);
  return totals;
}

/**
 * Totals of entries. The sum of their SHA-256 shows if two sides hold the same entries in any
 * order.
 */
class Tally {
  readonly #counts = { records: 0, series: 0, tasks: 0, done: 0 };
  #all = 0;
  #sum = 0n;

  /** Returns how many there are now. */
  add(entry: Entry): number {
    this.#counts[COUNTED[entry.kind]] += 1;
    const digest = createHash("sha256").update(lineOf(entry)).digest("hex");
    this.#sum = BigInt.asUintN(256, this.#sum + BigInt(`0x${digest}`));
    this.#all += 1;
    return this.#all;
  }

  get totals(): Totals {
    return { ...this.#counts, checksum: this.#sum.toString(16).padStart(64, "0") };
  }
}

/** An entry as a line of a dump, with its fields sorted by name. */
function lineOf(entry: Entry): string {
  const line = JSON.stringify(entry, Object.keys(entry).toSorted());
  // JSON may contain these two characters, but readers of lines take them for line ends.
  return line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function keyOf({ kind, id }: Entry): string {
  return `${kind} ${id}`;
}

/** Redis gives a series' remaining time, but not the exact time of its end. */
function comparable(entry: Entry): Entry {
  return entry.kind === "series" ? { ...entry, expiresAt: 0 } : entry;
}

/**
 * Marks a store that nothing is in as half loaded. From then on no app starts on it, also while the
 * dump's first line is still on its way.
 */
async function claimEmpty(target: Side): Promise<void> {
  await assertEmpty(target);
  await target.markHalfLoaded(true);
  try {
    // An app either sees the mark, or is seen here.
    await target.assertUnused();
  } catch (thrown) {
    await target.markHalfLoaded(false);
    throw thrown;
  }
}

async function assertEmpty(target: Side): Promise<void> {
  for await (const _ of target.entries()) {
    const remedy = target.name.startsWith("sqlite:")
      ? "Set STORE_URL to a file that doesn't exist yet, " +
        "or move this one away together with its -wal and -shm."
      : "Set STORE_URL to another prefix with ?prefix=name at its end, or to another database.";
    throw new StateError(`${target.name} isn't empty. ${remedy}`);
  }
}

/**
 * Yields the lines after a dump's first. Skips what `npm run` writes to the same place before it.
 */
async function* dumped(lines: AsyncIterable<string>): AsyncGenerator<unknown> {
  let hasBegun = false;
  for await (const line of lines) {
    if (!hasBegun && (line === "" || line.startsWith("> "))) continue;
    const value = jsonOf(line);
    if (hasBegun) {
      yield value;
      continue;
    }
    const first = First.safeParse(value);
    if (!first.success)
      throw new StateError(
        `This isn't a Docs Agent dump. Make one with ${commandOf("state", "dump")}. ${NO_APP}`,
      );
    if (first.data.docsAgentState !== DUMP_VERSION) {
      throw new StateError(
        `The dump has format ${first.data.docsAgentState}, ` +
          `and this version of docs-agent reads ${DUMP_VERSION}. ${NO_APP}`,
      );
    }
    hasBegun = true;
  }
  if (!hasBegun) {
    throw new StateError(
      `There is no dump on the standard input: ${commandOf("state", "load")} < state.jsonl. ${NO_APP}`,
    );
  }
}

const NO_APP = "No app starts on this store until a whole dump is loaded.";

function damaged(how: string): StateError {
  return new StateError(`The dump is incomplete or damaged: ${how}. Make a new one. ${NO_APP}`);
}
