import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Command } from "commander";
import { loadEnvFile } from "../../shared/machine/env-file.ts";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { isRedisUrl } from "../../shared/store/redis/redis-location.ts";
import { openBackend } from "../backend.ts";
import { explain } from "./explain.ts";
import { explainedText } from "./explained-text.ts";
import { forgetInStore } from "./forget.ts";
import { leftText } from "./left-text.ts";
import { openRedisSide } from "./redis-side.ts";
import { assertThere, openSqliteSide, readSqliteSide, refuseInUse } from "./sqlite-side.ts";
import { dump, load, type Progress, type Side, StateError, type Totals } from "./transfer.ts";
import { beforeOptions, commandOf } from "../../shared/machine/this-copy.ts";

type StateProgramOptions = {
  clock: Clock;
  logger: Logger;
  env: Record<string, string | undefined>;
  /** Where dumps come from and go to. */
  input: Readable;
  output: Writable;
  /** Writes messages for the operator. */
  say: (text: string) => void;
  /** True if a person reads them in a terminal. */
  isTerminal: boolean;
};

/** The store that an app without `STORE_URL` uses. */
export const DEFAULT_STORE_URL = "sqlite://./data/docs-agent.sqlite";

const AFTER = `
All work on the store that STORE_URL names (in the environment or in .env;
${DEFAULT_STORE_URL} if it isn't set).
Stop the app before dump and load: all replicas of it. Before forget, stop one on SQLite. Replicas
on Redis may go on.

From SQLite to Redis, for example:
  ${commandOf("state", "dump")} > state.jsonl
  STORE_URL=redis://redis.internal:6379 ${commandOf("state", "load")} < state.jsonl

A dump holds what people wrote: keep it as safe as the store. It is whole if its last line says
"totals". A load refuses a store that isn't empty. If it breaks off, no app starts on that store;
load the dump again. Once it has finished, don't start an app on the old store: it would do again
what is under way.
`;

/** The command line that dumps and loads the app's stored state. */
export function createStateProgram(options: StateProgramOptions): Command {
  const program = new Command(beforeOptions("state"))
    .description("Dumps, loads, explains or forgets what Docs Agent has stored.")
    .addHelpText("after", AFTER)
    .configureOutput({ writeOut: options.say, writeErr: options.say })
    .showHelpAfterError("(--help shows how to use it)");
  program
    .command("dump")
    .description("writes the store to the standard output, as lines of JSON")
    .action(() => runDump(options));
  program
    .command("load")
    .description("loads a dump from the standard input, and checks that all of it is there")
    .action(() => runLoad(options));
  program
    .command("explain")
    .description("explains what is stored about a message in Slack, also while the app runs")
    .argument("<permalink>", "what Copy link gives, in quotes")
    .option("--json", "as JSON")
    .action((link: string, { json = false }: { json?: boolean }) => runExplain(options, link, json));
  program
    .command("forget")
    .description("removes a person's words, names and files, and lists what stays elsewhere")
    .argument("<user>", "their id in Slack, such as U0ANA")
    .action((user: string) => runForget(options, user));
  return program;
}

/** How long a record is kept that can't be read. One of the person's goes with the next pass. */
const KEEP_SET_ASIDE_MS = 90 * 24 * 60 * 60_000;

async function runForget(options: StateProgramOptions, user: string): Promise<void> {
  const url = storeUrlOf(options);
  const isRedis = isRedisUrl(url);
  if (!isRedis) assertThere(pathOf(url));
  const config = { storeUrl: url, retentionMs: KEEP_SET_ASIDE_MS };
  // Closed last, so that what was overwritten in SQLite's log goes, too.
  await using backend = await openBackend({ ...options, config, ownerWaitMs: 0 }).catch(refuseInUse);
  await using source = isRedis
    ? await openRedisSide({ ...options, url }, false)
    : readSqliteSide(pathOf(url));
  await forgetInStore({ ...backend, source, clock: options.clock }, user, async (left) => {
    if (!options.output.write(leftText(user, left))) await once(options.output, "drain");
  });
  options.output.write(`\nForgot ${user}.\n`);
}

async function runExplain(options: StateProgramOptions, link: string, isJson: boolean): Promise<void> {
  const url = storeUrlOf(options);
  await using source = isRedisUrl(url)
    ? await openRedisSide({ ...options, url }, false)
    : readSqliteSide(pathOf(url));
  const turns = await explain(source, link);
  options.output.write(isJson ? `${JSON.stringify({ turns }, null, 2)}\n` : explainedText(turns));
}

async function runDump(options: StateProgramOptions): Promise<void> {
  const { clock, output } = options;
  await using source = await openSide(options, false);
  const progress = createProgress(options);
  async function writeLine(line: string): Promise<void> {
    if (!output.write(`${line}\n`)) await once(output, "drain");
  }
  const totals = await dump({ source, clock, progress: progress.tell, writeLine }).finally(progress.end);
  options.say(`Dumped ${shown(totals)} from ${source.name}\n`);
}

async function runLoad(options: StateProgramOptions): Promise<void> {
  const { clock, input } = options;
  await using target = await openSide(options, true);
  const progress = createProgress(options);
  const lines = linesOf(input);
  const totals = await load({ target, clock, progress: progress.tell, lines }).finally(progress.end);
  options.say(`Loaded ${shown(totals)} into ${target.name}, and read them back\n`);
}

/** Reads lines on demand, because a line that nobody waits for would be lost. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  yield* createInterface({ input, crlfDelay: Infinity });
}

/** A terminal gets one line that changes, and a log gets a line now and then. */
function createProgress({ clock, say, isTerminal }: StateProgramOptions): {
  tell: Progress;
  end: () => void;
} {
  const everyMs = isTerminal ? 200 : 5_000;
  let saidAtMs = clock.monotonicMs();
  let isLineOpen = false;
  return {
    tell(what, done) {
      if (clock.monotonicMs() - saidAtMs < everyMs) return;
      saidAtMs = clock.monotonicMs();
      const line = `${what} ${done.toLocaleString("en")} entries so far`;
      isLineOpen = isTerminal;
      say(isTerminal ? `\r${line}` : `${line}\n`);
    },
    end() {
      if (isLineOpen) say("\n");
    },
  };
}

function openSide(options: StateProgramOptions, isTarget: boolean): Promise<Side> {
  const url = storeUrlOf(options);
  if (isRedisUrl(url)) return openRedisSide({ ...options, url }, isTarget);
  return openSqliteSide(pathOf(url), options.clock, isTarget);
}

function storeUrlOf({ env }: StateProgramOptions): string {
  // Variables that are already set keep their values.
  loadEnvFile(".env", env);
  return env["STORE_URL"]?.trim() || DEFAULT_STORE_URL;
}

function pathOf(url: string): string {
  const path = /^sqlite:\/\/(.+)$/s.exec(url)?.[1];
  if (path !== undefined) return path;
  throw new StateError(
    "STORE_URL must be sqlite://path, or redis://host:6379, rediss://host:6379 or " +
      "redis+sentinel://a,b,c/name " +
      "(with user:password@ before the host, a % in them written as %25, " +
      "and /database and ?prefix=name at the end, where they are needed).",
  );
}

function shown({ records, series, tasks, done }: Totals): string {
  const [r, s, t, d] = [records, series, tasks, done].map((count) => count.toLocaleString("en"));
  return `${r} records, ${s} series, ${t} tasks and ${d} ids of tasks that are done`;
}
