import { Readable, Writable } from "node:stream";
import type { Clock } from "../../src/shared/machine/ports.ts";
import { createStateProgram, linesOf } from "../../src/app/dump/program.ts";
import { openRedisSide } from "../../src/app/dump/redis-side.ts";
import { openSqliteSide } from "../../src/app/dump/sqlite-side.ts";
import { dump, load, type Side, type Totals } from "../../src/app/dump/transfer.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** The path of a SQLite file, or the URL of a Redis whose time is the clock's. */
type Place = { store: string; clock: Clock };

function open({ store, clock }: Place, isTarget: boolean): Promise<Side> {
  if (!store.startsWith("redis:")) return openSqliteSide(store, clock, isTarget);
  const redis = { url: store, clock, logger: new RecordingLogger(), serverNow: () => clock.now() };
  return openRedisSide(redis, isTarget);
}

/** Resolves to the lines of a store's dump. */
export async function dumpOf(place: Place): Promise<string[]> {
  await using source = await open(place, false);
  const lines: string[] = [];
  const writeLine = async (line: string) => void lines.push(line);
  await dump({ source, clock: place.clock, progress: () => {}, writeLine });
  return lines;
}

/** Loads a dump into a store. `through` stands between the two. */
export async function loadInto(
  place: Place,
  lines: Iterable<string> | AsyncIterable<string>,
  through: (target: Side) => Side = (target) => target,
): Promise<Totals> {
  await using target = await open(place, true);
  async function* written() {
    for await (const line of lines) yield `${line}\n`;
  }
  const read = linesOf(Readable.from(written()));
  return await load({ target: through(target), clock: place.clock, progress: () => {}, lines: read });
}

/** Runs `npm run state` as an operator does. Resolves to what it prints. */
export async function runState({ store, clock }: Place, ...args: string[]): Promise<string> {
  let printed = "";
  const output = new Writable({
    write(chunk, _encoding, done) {
      printed += String(chunk);
      done();
    },
  });
  const program = createStateProgram({
    clock,
    logger: new RecordingLogger(),
    env: { STORE_URL: store.startsWith("redis:") ? store : `sqlite://${store}` },
    input: process.stdin,
    output,
    say: () => {},
    isTerminal: false,
  });
  await program.parseAsync(args, { from: "user" });
  return printed;
}
