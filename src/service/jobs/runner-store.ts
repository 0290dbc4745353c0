import type { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { hashOfSecret, issueSecret } from "../base/issued-secret.ts";
import { RunnerRow, type RunnerSays } from "../runners/runner-row.ts";
import type { TurnKey } from "./rows.ts";
import { columnsOf, Tables } from "./tables.ts";

/** A running turn and the runner that has it. */
const RunningRow = z.object({ jobId: z.string(), number: z.int(), runner: z.string() });

const SELECT = `SELECT ${columnsOf(RunnerRow)} FROM runners`;
/** Each write goes to the disk with the next one that waits for it, but a claim comes often. */
const WRITE_EVERY_MS = 10_000;

/** The runners elsewhere: who may call, and what each last said of itself. */
export class RunnerStore {
  readonly #tables: Tables;
  /** What was last written of what each runner says, and when. */
  readonly #written = new Map<string, { says: RunnerSays; atMs: number }>();

  constructor(db: DatabaseSync) {
    this.#tables = new Tables(db);
  }

  /**
   * Adds a runner. The returned `token` is shown once and stored nowhere. Null if another runner
   * that isn't revoked has the name.
   */
  add({
    keyPrefix,
    name,
    projects,
    nowMs,
  }: {
    keyPrefix: string;
    name: string;
    projects: readonly string[] | null;
    nowMs: number;
  }): { id: string; token: string } | null {
    if (this.byName(name) !== null) return null;
    const issued = issueSecret({ prefix: `${keyPrefix}_runner`, idPrefix: "runner" });
    const { id, secret: token, hash, last4 } = issued;
    const sql = `INSERT INTO runners (id, name, projects, hash, last4, created_at)
      VALUES (?, ?, ?, ?, ?, ?)`;
    this.#tables.run(sql, id, name, JSON.stringify(projects), hash, last4, nowMs);
    return { id, token };
  }

  /** All runners, oldest first, including revoked ones. */
  all(): RunnerRow[] {
    return this.#tables.all(RunnerRow, `${SELECT} ORDER BY created_at, id`);
  }

  /** The runner that a token belongs to. Null if there is none, or if it is revoked. */
  byToken(token: string): RunnerRow | null {
    const sql = `${SELECT} WHERE hash = ? AND revoked_at IS NULL`;
    return this.#tables.one(RunnerRow, sql, hashOfSecret(token));
  }

  /** The runner with this id. Null if there is none, or if it is revoked. */
  byId(id: string): RunnerRow | null {
    return this.#tables.one(RunnerRow, `${SELECT} WHERE id = ? AND revoked_at IS NULL`, id);
  }

  /** The runner with this name that isn't revoked, or null. */
  byName(name: string): RunnerRow | null {
    return this.#tables.one(RunnerRow, `${SELECT} WHERE name = ? AND revoked_at IS NULL`, name);
  }

  /**
   * Notes what a runner says of itself, and that it is there. A time alone is written every ten
   * seconds. Nothing here waits for the disk, so a power cut may lose it.
   */
  saw(id: string, says: RunnerSays, nowMs: number): void {
    const last = this.#written.get(id);
    const passedMs = nowMs - (last?.atMs ?? -Infinity);
    const isFresh = passedMs >= 0 && passedMs < WRITE_EVERY_MS;
    if (isFresh && isDeepStrictEqual(last?.says, says)) return;
    const { version, protocol, session, labels, places, free } = says;
    const sql = `UPDATE runners SET seen_at = ?, version = ?, protocol = ?, session = ?, labels = ?,
      places = ?, free = ? WHERE id = ?`;
    const said = [version, protocol, session, JSON.stringify(labels), places, free];
    this.#tables.note(sql, nowMs, ...said, id);
    this.#written.set(id, { says: { ...says, labels: [...labels] }, atMs: nowMs });
  }

  /** Returns false if it was like that before. */
  setDraining(id: string, isDraining: boolean): boolean {
    const value = isDraining ? 1 : 0;
    return (
      this.#tables.run("UPDATE runners SET is_draining = ?1 WHERE id = ?2 AND is_draining <> ?1", value, id) >
      0
    );
  }

  /**
   * Revokes a runner: its next call is refused, and its name is free. Returns false if it was
   * revoked before.
   */
  revoke(id: string, nowMs: number): boolean {
    return (
      this.#tables.run("UPDATE runners SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", nowMs, id) > 0
    );
  }

  /** The turns that run now, by the id of the runner that has them. */
  running(): Map<string, TurnKey[]> {
    // As the index has it that keeps counting unfinished turns cheap.
    const sql = `SELECT job_id AS jobId, number, substr(runner, 1, instr(runner || '/', '/') - 1) AS runner
      FROM turns
      WHERE state <> 'ended' AND state = 'running' AND runner IS NOT NULL ORDER BY job_id, number`;
    const turns = this.#tables.all(RunningRow, sql);
    // A runner's machines have its id and their own.
    return Map.groupBy(turns, ({ runner }) => runner.split("/", 1)[0] ?? runner);
  }
}
