import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "./load.ts";
import { BenchError, type Context } from "./scenario.ts";
import { signedRequests } from "./signed-request.ts";
import { StandIns, startDocsAgent } from "./subjects.ts";

/**
 * A number that appears nowhere else in a row. The request's trigger id contains the next number.
 */
const TEMPLATE = 777_000_777;
const COPIES_FROM = 1_000_000_000;
const CREATED_WITHIN_MS = 15_000;
/**
 * Enough time for everything that a request causes except the poll. A channel takes one message a
 * second.
 */
const SETTLE_MS = 3500;

/**
 * Fills a store with watched jobs, for any version of the program. The program takes one request
 * and watches its job. Then every row that names the request is copied, with another number in it.
 * The first polls of all copies fall due together, `dueInMs` after the request.
 */
export async function fillStore(
  { checkout, dir }: Pick<Context, "checkout" | "dir">,
  { store, jobs, dueInMs }: { store: string; jobs: number; dueInMs: number },
): Promise<void> {
  {
    await using standIns = await StandIns.start(dir, {});
    const env = { POLL_MIN_MS: String(dueInMs), POLL_MAX_MS: String(dueInMs) };
    const { program, origin } = await startDocsAgent({ checkout, standIns, dir, store, env });
    await using _ = program;
    await using load = new Load(origin, 1, signedRequests(1, Infinity, TEMPLATE));
    await load.run(Infinity);
    const isCreated = await standIns.until(({ created }) => created === 1, CREATED_WITHIN_MS);
    if (!isCreated) throw new BenchError(`The job wasn't created within ${CREATED_WITHIN_MS / 1000} s.`);
    await sleep(SETTLE_MS);
    await program.stop();
  }
  copyRows(join(dir, store), jobs - 1);
}

function copyRows(path: string, copies: number): void {
  using db = new DatabaseSync(path);
  db.exec("PRAGMA synchronous = OFF; BEGIN");
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => String(name));
  let copied = 0;
  for (const table of tables) {
    const columns = db.prepare(`PRAGMA table_info("${table}")`).all();
    const keys = columns.filter(({ pk }) => Number(pk) > 0);
    const names = columns
      // Leaves out the rowid, because SQLite gives each copy its own.
      .filter(({ pk, type }) => !(Number(pk) > 0 && keys.length === 1 && type === "INTEGER"))
      .map(({ name }) => `"${String(name)}"`);
    const isMarked = names.map(
      (name) => `instr(${name}, '${TEMPLATE}') OR instr(${name}, '${TEMPLATE + 1}')`,
    );
    const values = names.map(
      (name) =>
        `CASE typeof(${name}) WHEN 'text'
          THEN replace(
            replace(${name}, '${TEMPLATE}', ${COPIES_FROM} + 2 * i),
            '${TEMPLATE + 1}', ${COPIES_FROM} + 2 * i + 1)
          ELSE ${name} END`,
    );
    const { changes } = db
      .prepare(
        `WITH RECURSIVE copies(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < ?)
         INSERT INTO "${table}" (${names.join(", ")})
         SELECT ${values.join(", ")} FROM "${table}", copies WHERE ${isMarked.join(" OR ")}`,
      )
      .run(copies);
    copied += Number(changes);
  }
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  if (copied < copies)
    throw new BenchError("The store can't be filled: no row names the request it is filled from.");
}
