import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { DUMP_VERSION } from "./dump.ts";
import type { Progress } from "./progress.ts";
import { Entry, PAGE_SIZE, type Target, overAt } from "./side.ts";
import { StateError } from "./state-error.ts";
import { Tally, Totals } from "./tally.ts";

type LoadOptions = {
  target: Target;
  clock: Clock;
  progress: Progress;
  lines: AsyncIterable<string>;
};

/** What ends within this time after the load began may be gone when it is looked for. */
const LASTS_MS = 24 * 60 * 60_000;

const First = z.object({ docsAgentState: z.int() });
const Last = z.strictObject({ totals: Totals });

/**
 * Puts a dump into an empty store, and reads it back. Until it has finished no app starts on the store. One that broke off
 * may be repeated: it begins anew. Rejects when the store isn't empty or is in use, and when the dump is not whole.
 */
export async function load({ target, clock, progress, lines }: LoadOptions): Promise<Totals> {
  await target.assertUnused();
  const isRepeated = await target.isHalfLoaded();
  if (isRepeated) await target.clear();
  else await assertEmpty(target);
  const lastsAfter = clock.now() + LASTS_MS;
  const read = new Tally();
  const written = new Tally();
  const shortLived = new Set<string>();
  const step = progress.begin("Loaded", 0);
  let page: Entry[] = [];
  let isMarked = isRepeated;
  let totals: Totals | null = null;
  async function put(): Promise<void> {
    if (!isMarked) await target.markHalfLoaded(true);
    isMarked = true;
    if (page.length > 0) await target.put(page);
    step(page.length);
    page = [];
  }
  for await (const line of dumped(lines)) {
    if (totals !== null) throw damaged("something follows its last line");
    const last = Last.safeParse(line);
    if (last.success) {
      ({ totals } = last.data);
      continue;
    }
    const { data: entry } = Entry.safeParse(line);
    if (entry === undefined) throw damaged("a line is no entry of this format");
    read.add(entry);
    if (overAt(entry) <= clock.now()) continue;
    if (overAt(entry) > lastsAfter) written.add(comparable(entry));
    else shortLived.add(keyOf(entry));
    page.push(entry);
    if (page.length === PAGE_SIZE) await put();
  }
  await put();
  if (totals === null) throw damaged("its last line is missing");
  if (!isDeepStrictEqual(totals, read.totals)) throw damaged("its lines don't add up to its last one");

  const found = new Tally();
  const check = progress.begin("Read back", totals.records + totals.series + totals.tasks + totals.done);
  for await (const entries of target.pages()) {
    for (const entry of entries) if (!shortLived.has(keyOf(entry))) found.add(comparable(entry));
    check(entries.length);
  }
  await target.assertUnused();
  if (!isDeepStrictEqual(found.totals, written.totals)) {
    throw new StateError(
      `${target.name} doesn't hold what was put there. Make sure that nothing else uses it, and load the dump again.`,
    );
  }
  await target.markHalfLoaded(false);
  return totals;
}

function keyOf({ kind, id }: Entry): string {
  return `${kind} ${id}`;
}

/** Redis says how long a series stays, but not exactly until when. */
function comparable(entry: Entry): Entry {
  return entry.kind === "series" ? { ...entry, expiresAt: 0 } : entry;
}

async function assertEmpty(target: Target): Promise<void> {
  for await (const page of target.pages()) {
    if (page.length === 0) continue;
    const remedy = target.name.startsWith("sqlite:")
      ? "Set STORE_URL to a file that doesn't exist yet, or move this one away together with its -wal and -shm."
      : "Set STORE_URL to another prefix with ?prefix=name at its end, or to another database.";
    throw new StateError(`${target.name} isn't empty. ${remedy}`);
  }
}

/** What follows the first line of a dump. What npm says before it is skipped: `npm run` writes it to the same place. */
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
      throw new StateError("This is no dump of Docs Agent: make one with npm run state -- dump.");
    if (first.data.docsAgentState !== DUMP_VERSION) {
      throw new StateError(
        `The dump has format ${first.data.docsAgentState}, and this version of docs-agent reads ${DUMP_VERSION}.`,
      );
    }
    hasBegun = true;
  }
  if (!hasBegun)
    throw new StateError("There is no dump on the standard input: npm run state -- load < state.jsonl");
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function damaged(how: string): StateError {
  return new StateError(
    `The dump is not whole: ${how}. Make it anew. Nothing runs on what was loaded of it.`,
  );
}
