import type { Clock } from "../core/clock.ts";
import { MigrationError } from "./migration-error.ts";
import type { Progress } from "./progress.ts";
import { type Entry, type Side, type Source, type Target, isOver, isSame, keyText } from "./side.ts";

/** What was moved, by kind, as it was counted on both sides. */
export type Moved = { record: number; live: number; dead: number; done: number };

export type MigrateOptions = { source: Source; target: Target; clock: Clock; progress: Progress };

/**
 * Moves everything from the source to the target, and compares both. It may be killed at any point and run again: what the target has already is not written
 * again, and what the source has no more is removed. Rejects with a {@link MigrationError} when one of the two is in use, or the target isn't
 * empty.
 */
export async function migrate({ source, target, clock, progress }: MigrateOptions): Promise<Moved> {
  await source.assertUnused();
  await target.assertUnused();
  await source.hold(`to ${target.name}`);
  const begun = await take(source, target);
  const total = await source.count();
  if (begun !== "full") await copy(source, target, clock, progress.begin("Copied", total));
  if (begun === "resumed") {
    await removeSurplus(source, target, clock, progress.begin("Looked for what is out of date:", total));
  }
  try {
    const counts = await compare(source, target, clock, progress.begin("Compared", total));
    const others = await compare(target, source, clock, progress.begin("Compared the other way:", total));
    await source.assertUnused();
    await target.assertUnused();
    await target.note(null);
    return fewest(counts, others);
  } catch (thrown) {
    if (begun !== "full" || !(thrown instanceof DifferenceError)) throw thrown;
    throw new MigrationError(`${target.name} isn't empty. ${emptyRemedy(target.name)}`, { cause: thrown });
  }
}

/** An entry is not the same on both sides. */
class DifferenceError extends MigrationError {}

/**
 * Makes the target that of this migration. `resumed`: it was already. `full`: it holds something, which may be what an attempt moved that
 * died before it could say so.
 */
async function take(source: Source, target: Target): Promise<"new" | "resumed" | "full"> {
  const own = `from ${source.name}`;
  const migration = await target.migration();
  if (migration === own) return "resumed";
  if (migration !== null) {
    throw new MigrationError(
      `${target.name} is part of a migration ${migration}. Finish that one first, or choose another target.`,
    );
  }
  for await (const page of target.pages()) if (page.length > 0) return "full";
  await target.note(own);
  return "new";
}

function emptyRemedy(name: string): string {
  return name.startsWith("sqlite:")
    ? "Choose a file that doesn't exist yet, or move this one away together with its -wal and -shm."
    : "Choose another prefix with ?prefix=name at the end of the URL, or another database.";
}

async function copy(source: Source, target: Target, clock: Clock, step: (done: number) => void) {
  for await (const page of pagesOf(source, clock)) {
    const there = await target.find(page);
    const missing = page.filter((entry) => !isSame(there.get(keyText(entry)), entry));
    if (missing.length > 0) await target.put(missing);
    step(page.length);
  }
}

/** What an earlier attempt has moved may be gone from the source since. */
async function removeSurplus(source: Source, target: Target, clock: Clock, step: (done: number) => void) {
  for await (const page of pagesOf(target, clock)) {
    const there = await source.find(page);
    const surplus = page.filter((entry) => !there.has(keyText(entry)));
    if (surplus.length > 0) await target.remove(surplus);
    step(page.length);
  }
}

/** Rejects unless `other` has all of `side`, with the same content. */
async function compare(side: Side, other: Side, clock: Clock, step: (done: number) => void): Promise<Moved> {
  const counts = { record: 0, live: 0, dead: 0, done: 0 };
  for await (const page of pagesOf(side, clock)) {
    const there = await other.find(page);
    for (const entry of page) {
      counts[entry.kind === "task" ? entry.state : entry.kind] += 1;
      const found = there.get(keyText(entry));
      if (isSame(found, entry)) continue;
      throw new DifferenceError(
        `${entry.kind} ${entry.id} in ${side.name} ${found === undefined ? "isn't" : "isn't the same"} in ${other.name}. Make sure that no app uses either, and run this again.`,
      );
    }
    step(page.length);
  }
  return counts;
}

/** Without what is over, which one side may have forgotten already. */
async function* pagesOf(side: Side, clock: Clock): AsyncGenerator<Entry[]> {
  for await (const page of side.pages()) {
    const now = clock.now();
    yield page.filter((entry) => !isOver(entry, now));
  }
}

/** Redis may name an entry twice. The other side doesn't, and each has all that the other one has. */
function fewest(a: Moved, b: Moved): Moved {
  return {
    record: Math.min(a.record, b.record),
    live: Math.min(a.live, b.live),
    dead: Math.min(a.dead, b.dead),
    done: Math.min(a.done, b.done),
  };
}
