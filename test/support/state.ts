import { Readable } from "node:stream";
import type { Clock } from "../../src/core/clock.ts";
import { dump } from "../../src/state/dump.ts";
import { load } from "../../src/state/load.ts";
import { linesOf } from "../../src/state/program.ts";
import { Progress } from "../../src/state/progress.ts";
import { openRedisSource, openRedisTarget } from "../../src/state/redis-side.ts";
import type { Target } from "../../src/state/side.ts";
import { openSqliteSource, openSqliteTarget } from "../../src/state/sqlite-side.ts";
import type { Totals } from "../../src/state/tally.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** A path of a SQLite file, or a URL of a Redis whose time is the clock's. */
type Place = { store: string; clock: Clock };

function isRedis(store: string): boolean {
  return store.startsWith("redis:");
}

function redisOptions({ store, clock }: Place) {
  return { url: store, clock, logger: new RecordingLogger(), serverNow: () => clock.now() };
}

function silent(clock: Clock): Progress {
  return new Progress({ clock, write: () => {}, isTerminal: false });
}

export async function dumpOf(place: Place): Promise<string[]> {
  const { store, clock } = place;
  await using source = isRedis(store)
    ? await openRedisSource(redisOptions(place))
    : await openSqliteSource(store, clock);
  const lines: string[] = [];
  const writeLine = async (line: string) => void lines.push(line);
  await dump({ source, clock, progress: silent(clock), writeLine });
  return lines;
}

/** `through`: what stands between the load and the store. */
export async function loadInto(
  place: Place,
  lines: readonly string[],
  through: (target: Target) => Target = (target) => target,
): Promise<Totals> {
  const { store, clock } = place;
  await using target = isRedis(store)
    ? await openRedisTarget(redisOptions(place))
    : await openSqliteTarget(store, clock);
  const read = linesOf(Readable.from(lines.map((line) => `${line}\n`)));
  return await load({ target: through(target), clock, progress: silent(clock), lines: read });
}
