import type { Clock } from "../core/clock.ts";
import type { Progress } from "./progress.ts";
import { type Source, overAt } from "./side.ts";
import { StateError } from "./state-error.ts";
import { type Totals, Tally, lineOf } from "./tally.ts";

/** The first line of a dump, with the version of its format. A reader refuses any other version. */
export const DUMP_VERSION = 1;

type DumpOptions = {
  source: Source;
  clock: Clock;
  progress: Progress;
  /** Resolves when the next line may be written. */
  writeLine: (line: string) => Promise<void>;
};

/**
 * Writes all that a store holds as lines of JSON. The first line names the format, the last one the totals; a dump without
 * its last line is not whole. Rejects when an app uses the store.
 */
export async function dump({ source, clock, progress, writeLine }: DumpOptions): Promise<Totals> {
  await source.assertUnused();
  if (await source.isHalfLoaded()) {
    throw new StateError(
      `${source.name} holds a part of another dump: its load broke off. Load that one again first.`,
    );
  }
  const step = progress.begin("Dumped", await source.count());
  await writeLine(JSON.stringify({ docsAgentState: DUMP_VERSION }));
  const tally = new Tally();
  for await (const page of source.pages()) {
    const now = clock.now();
    for (const entry of page) {
      // Whatever is over counts for nothing: the next sweep would remove it.
      if (overAt(entry) <= now) continue;
      tally.add(entry);
      await writeLine(lineOf(entry));
    }
    step(page.length);
  }
  // An app that was started meanwhile may have changed what was read before.
  await source.assertUnused();
  await writeLine(JSON.stringify({ totals: tally.totals }));
  return tally.totals;
}
