import { createHash } from "node:crypto";
import { z } from "zod";
import { transaction } from "../../shared/store/sqlite/sqlite-database.ts";
import type { Tables } from "./tables.ts";

/** Stands where words were. */
const FORGOTTEN = "(forgotten)";

/** What is stored of a person. `left` are the pages and branches at the code host. */
export type FoundPerson = { turns: number; quotedIn: number; jobIds: string[]; left: string[] };

const Counted = z.object({ turns: z.int(), quotedIn: z.int() });

const ASKED = `(authors ->> '$.requester' IN (?1, ?2)
    OR (authors = 'null' AND requester ->> '$.name' = ?1))`;
const QUOTES = `EXISTS (SELECT 1 FROM json_each(authors, '$.quoted') WHERE value IN (?1, ?2))`;
const THEIRS = `(${ASKED} OR ${QUOTES})`;

/** What is stored of the people who asked, and of those whose messages went along. */
export class PeopleStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** What is stored of a person: their turns, and others' turns that quote them. */
  find(user: string): FoundPerson {
    const who = [user, this.#hashOf(user)];
    const counts = `SELECT count(*) FILTER (WHERE ${ASKED}) AS turns,
      count(*) FILTER (WHERE NOT ${ASKED}) AS quotedIn FROM turns WHERE ${THEIRS}`;
    const jobs = `SELECT DISTINCT job_id AS id FROM turns WHERE ${THEIRS} ORDER BY id`;
    const left = `SELECT DISTINCT coalesce(pull_request ->> '$.url', 'branch ' || branch) AS id FROM turns
      WHERE job_id IN (SELECT job_id FROM turns WHERE ${THEIRS}) AND id IS NOT NULL ORDER BY id`;
    const { turns, quotedIn } = this.#tables.one(Counted, counts, ...who) ?? { turns: 0, quotedIn: 0 };
    return {
      turns,
      quotedIn,
      jobIds: this.#tables.ids(jobs, ...who),
      left: this.#tables.ids(left, ...who),
    };
  }

  /**
   * Archives the jobs that a person has a part in, so that nothing is added to them anymore.
   * Returns false, and does nothing, while a turn of one of them waits or runs.
   */
  close(user: string, nowMs: number): boolean {
    const who = [user, this.#hashOf(user)];
    const theirs = `SELECT job_id FROM turns WHERE ${THEIRS}`;
    return transaction(this.#tables.db, () => {
      const unfinished = `SELECT job_id FROM turns WHERE state <> 'ended' AND job_id IN (${theirs}) LIMIT 1`;
      if (this.#tables.value(z.string(), unfinished, ...who) !== null) return false;
      const archive = `UPDATE jobs SET archived_at = ?3 WHERE archived_at IS NULL AND id IN (${theirs})`;
      this.#tables.run(archive, ...who, nowMs);
      return true;
    });
  }

  /**
   * Removes a person's words and names from the ended turns of these jobs. What the agent was told
   * and said there goes, too. Ids stay as hashes, so that numbers still add up. Safe to repeat.
   */
  forget(user: string, jobIds: readonly string[]): void {
    const hash = this.#hashOf(user);
    const values = [user, hash, JSON.stringify(jobIds)];
    const where = `state = 'ended' AND job_id IN (SELECT value FROM json_each(?3))`;
    // An agent has been told the job's earlier requests, whoever asked for this one.
    const said = `UPDATE turns SET brief = NULL, progress = '[]', plan = '[]', step = NULL, summary = NULL,
      left_out = '[]', reason = iif(reason IS NULL, NULL, '${FORGOTTEN}'),
      quality = json_remove(quality, '$.notes')
      WHERE ${where.replace("?3", "?1")}`;
    const names = `DELETE FROM attachments WHERE (job_id, turn) IN
      (SELECT job_id, number FROM turns WHERE ${where} AND ${THEIRS})`;
    const asked = `UPDATE turns SET prompt = '${FORGOTTEN}',
      authors = replace(authors, json_quote(?1), json_quote(?2))
      WHERE ${where} AND ${THEIRS}`;
    // A turn without ids is found by its name alone, so that goes last.
    const own = `UPDATE turns SET words = NULL, requester = 'null' WHERE ${where} AND ${ASKED}`;
    transaction(this.#tables.db, () => {
      this.#tables.run(said, JSON.stringify(jobIds));
      for (const sql of [names, asked, own]) this.#tables.run(sql, ...values);
    });
    // Until then, the log beside the file has what was overwritten in it.
    this.#tables.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** The same for the same person, and another one in each file. */
  #hashOf(user: string): string {
    const incarnation = this.#tables.value(z.string(), `SELECT incarnation FROM feed`) ?? "";
    return `forgotten-${createHash("sha256").update(`${incarnation} ${user}`).digest("hex").slice(0, 32)}`;
  }
}
