import { Command } from "commander";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { isRedisUrl } from "../store/redis/redis-location.ts";
import { type Moved, migrate } from "./migrate.ts";
import { MigrationError } from "./migration-error.ts";
import { Progress } from "./progress.ts";
import { openRedisSource, openRedisTarget } from "./redis-side.ts";
import type { Source, Target } from "./side.ts";
import { openSqliteSource, openSqliteTarget } from "./sqlite-side.ts";

export type MigrateProgramOptions = {
  clock: Clock;
  logger: Logger;
  /** Write to the standard output, and to the standard error. */
  write: (text: string) => void;
  writeError: (text: string) => void;
  /** Whether a person looks at the output. */
  isTerminal: boolean;
};

const AFTER = `
Examples:
  npm run migrate -- --from sqlite://./data/docs-agent.sqlite --to redis://redis.internal:6379
  npm run migrate -- --from redis://redis.internal:6379 --to sqlite://./data/docs-agent.sqlite

Stop the app first: all replicas of it. The target must be empty. What was there stays as it is. If this is stopped halfway, run it again:
it goes on. Until it has finished, no app starts on the target.
`;

/** The command line of the migration. */
export function createMigrateProgram(options: MigrateProgramOptions): Command {
  return new Command("npm run migrate --")
    .description(
      "Moves everything that Docs Agent has stored from SQLite to Redis, or back, and compares both.",
    )
    .requiredOption("--from <url>", "what STORE_URL is now: sqlite://path or redis://…")
    .requiredOption("--to <url>", "what it is going to be: the other one of the two")
    .addHelpText("after", AFTER)
    .configureOutput({ writeOut: options.write, writeErr: options.writeError })
    .showHelpAfterError("(--help shows how to use it)")
    .action(({ from, to }: { from: string; to: string }) => run(from, to, options));
}

async function run(from: string, to: string, options: MigrateProgramOptions): Promise<void> {
  const { clock, write, isTerminal } = options;
  const [fromPath, toPath] = [sqlitePathOf(from), sqlitePathOf(to)];
  const [isFromRedis, isToRedis] = [from, to].map(isRedisUrl);
  await using resources = new AsyncDisposableStack();
  let source: Source;
  let target: Target;
  if (fromPath !== null && isToRedis === true) {
    source = resources.use(await openSqliteSource(fromPath, clock));
    target = resources.use(await openRedisTarget({ ...options, url: to }));
  } else if (isFromRedis === true && toPath !== null) {
    source = resources.use(await openRedisSource({ ...options, url: from }));
    target = resources.use(await openSqliteTarget(toPath, clock));
  } else {
    throw new MigrationError(
      "One of --from and --to must be sqlite://path, the other redis://host:6379 or rediss://host:6379 (with user:password@ before the host, a % in them written as %25, and /database and ?prefix=name at the end, where they are needed).",
    );
  }
  write(`Moving everything from ${source.name} to ${target.name}\n`);
  const progress = new Progress({ clock, write, isTerminal });
  const moved = await migrate({ source, target, clock, progress }).finally(() => progress.end());
  write(report(moved, source.name, target.name));
}

function sqlitePathOf(url: string): string | null {
  return /^sqlite:\/\/(.+)$/s.exec(url)?.[1] ?? null;
}

function report({ record, live, dead, done }: Moved, from: string, to: string): string {
  const number = (count: number) => count.toLocaleString("en");
  return `Moved, read back on both sides, and found the same:
  ${number(record)} records
  ${number(live)} tasks that wait, and ${number(dead)} that were given up
  ${number(done)} ids of tasks that are done

What to do now:
  1. Set STORE_URL to ${to}${to.startsWith("sqlite:") ? "" : " (with user and password, if it has them)"} and start the app.
  2. Keep ${from} as a backup. Don't start an app on it: it would do again what is under way.
`;
}
