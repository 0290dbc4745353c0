import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../../machine/ports.ts";
import type { Limit, RateLimiter, ReservedTime } from "../rate-limiter.ts";
import { LimitReachedError } from "../../errors.ts";
import type { GroupCommit } from "./group-commit.ts";
import { preparing } from "./sqlite-database.ts";

const GateRow = z.object({ gate: z.string(), next_at: z.int(), blocked_until: z.int() });

/**
 * `nextAt` is the next time that is free after those taken. None is good before `blockedUntil`.
 * `usedAt` is when one was last used, which isn't saved. Epoch milliseconds.
 */
type Gate = { nextAt: number; blockedUntil: number; usedAt: number };

/** The statements for gates. A test checks their query plans. The table keeps its old name. */
export const GATE_SQL = {
  all: "SELECT gate, next_at, blocked_until FROM slots",
  save: `INSERT INTO slots (gate, next_at, blocked_until) VALUES (?, ?, ?)
    ON CONFLICT (gate) DO UPDATE SET next_at = excluded.next_at, blocked_until = excluded.blocked_until`,
  remove: "DELETE FROM slots WHERE gate = ?",
} as const;

/**
 * How long a reserved time stays good after it came. Otherwise times held over a pause would all be
 * used at once.
 */
const HELD_FOR_MS = 5_000;
/** Writing a row for every reserved time would cost more than the message itself. */
const SAVE_EVERY_MS = 1_000;

/**
 * The rate limiter of the process that owns the file. Gates are kept in memory and saved once a
 * second, with a commit that happens anyway. A crash in between costs at most a few messages that
 * Slack turns away, and those are sent again.
 */
export class SqliteRateLimiter implements RateLimiter {
  readonly #clock: Clock;
  readonly #commits: GroupCommit;
  readonly #gates = new Map<string, Gate>();
  #changed = new Set<string>();
  #savedAtMs = -Infinity;
  readonly #sql: (sql: string) => StatementSync;

  constructor({ db, commits, clock }: { db: DatabaseSync; commits: GroupCommit; clock: Clock }) {
    this.#clock = clock;
    this.#commits = commits;
    this.#sql = preparing(db);
    for (const row of z.array(GateRow).parse(this.#sql(GATE_SQL.all).all())) {
      this.#gates.set(row.gate, { nextAt: row.next_at, blockedUntil: row.blocked_until, usedAt: 0 });
    }
    commits.ride(() => this.#saveChanged());
  }

  async reserve(
    name: string,
    { gapMs, burst = 1 }: { gapMs: number; burst?: number },
    heldMs?: number,
  ): Promise<ReservedTime> {
    const now = this.#clock.now();
    const gate = this.#gate(name);
    const apart = burst === 1 ? gate.usedAt + gapMs : 0;
    if (heldMs !== undefined && isHeld(gate, heldMs, now)) {
      if (heldMs > now) return reservedAt(heldMs);
      if (apart > now) return reservedAt(apart);
      gate.usedAt = now;
      return reservedAt(heldMs);
    }
    const free = Math.max(gate.nextAt - (burst - 1) * gapMs, gate.blockedUntil, now, apart);
    gate.nextAt = Math.max(gate.nextAt, now, gate.blockedUntil, apart) + gapMs;
    if (free <= now) gate.usedAt = now;
    this.#changed.add(name);
    return reservedAt(free);
  }

  async takeIfIdle(name: string, { gapMs }: { gapMs: number }): Promise<ReservedTime | null> {
    const now = this.#clock.now();
    const gate = this.#gate(name);
    if (Math.max(gate.nextAt, gate.blockedUntil, gate.usedAt + gapMs) > now) return null;
    gate.nextAt = now + gapMs;
    gate.usedAt = now;
    this.#changed.add(name);
    return reservedAt(now);
  }

  async postpone(name: string, untilMs: number): Promise<void> {
    const gate = this.#gate(name);
    if (untilMs <= gate.blockedUntil) return;
    gate.blockedUntil = Math.ceil(untilMs);
    gate.nextAt = Math.max(gate.nextAt, gate.blockedUntil);
    this.#changed.add(name);
  }

  async openAt(name: string): Promise<number> {
    return Math.max(this.#clock.now(), this.#gates.get(name)?.blockedUntil ?? 0);
  }

  async forget(id: string): Promise<void> {
    const names = [...this.#gates.keys()].filter((name) => name.endsWith(`:${id}`));
    for (const name of names) {
      this.#gates.delete(name);
      this.#changed.add(name);
    }
    await this.save();
  }

  /**
   * Inside a work: counts one more against each limit and returns null, or counts against none and
   * returns the reason.
   */
  takeWithin(limits: readonly Limit[]): LimitReachedError | null {
    const now = this.#clock.now();
    const nextOf: number[] = [];
    for (const { gate, limit, windowMs } of limits) {
      const nextAt = Math.max(this.#gates.get(gate)?.nextAt ?? 0, now) + windowMs / limit;
      // A millisecond of slack, for what rounding leaves.
      if (nextAt > now + windowMs + 1) return new LimitReachedError(gate, Math.ceil(nextAt - windowMs));
      nextOf.push(nextAt);
    }
    for (const [n, { gate: name, limit, windowMs }] of limits.entries()) {
      const gate = this.#gate(name);
      gate.nextAt = nextOf[n] ?? gate.nextAt;
      this.#changed.add(name);
      this.#commits.afterUndo(() => {
        gate.nextAt -= windowMs / limit;
      });
    }
    return null;
  }

  /** Brings all times forward by `byMs` milliseconds, because the machine's clock was set back. */
  pullIn(byMs: number): void {
    for (const [name, gate] of this.#gates) {
      gate.nextAt -= byMs;
      gate.blockedUntil -= byMs;
      gate.usedAt -= byMs;
      this.#changed.add(name);
    }
  }

  /** Removes gates that nothing holds. */
  sweep(): void {
    const now = this.#clock.now();
    for (const [name, gate] of this.#gates) {
      if (gate.nextAt > now || gate.blockedUntil > now) continue;
      this.#gates.delete(name);
      this.#changed.add(name);
    }
  }

  #gate(name: string): Gate {
    const known = this.#gates.get(name);
    if (known !== undefined) return known;
    const gate = { nextAt: 0, blockedUntil: 0, usedAt: 0 };
    this.#gates.set(name, gate);
    return gate;
  }

  /** Saves changes with the next commit, which it requests. For the end of the process. */
  async save(): Promise<void> {
    if (this.#changed.size === 0) return;
    this.#savedAtMs = -Infinity;
    await this.#commits.run(() => {});
  }

  #saveChanged(): void {
    const now = this.#clock.monotonicMs();
    if (this.#changed.size === 0 || now - this.#savedAtMs < SAVE_EVERY_MS) return;
    const names = this.#changed;
    const savedBefore = this.#savedAtMs;
    this.#changed = new Set();
    this.#savedAtMs = now;
    this.#commits.afterUndo(() => {
      for (const name of names) this.#changed.add(name);
      this.#savedAtMs = savedBefore;
    });
    for (const name of names) {
      const gate = this.#gates.get(name);
      if (gate === undefined) this.#sql(GATE_SQL.remove).run(name);
      else this.#sql(GATE_SQL.save).run(name, Math.ceil(gate.nextAt), Math.ceil(gate.blockedUntil));
    }
  }
}

/** The process that owns the file has one clock. */
function reservedAt(ms: number): ReservedTime {
  const reservedMs = Math.ceil(ms);
  return { at: reservedMs, reservedMs };
}

/**
 * True if a held time is still good. A time after the next free one was reserved before the clock
 * was set back.
 */
function isHeld(gate: Gate, heldMs: number, nowMs: number): boolean {
  const isRecent = nowMs - heldMs <= HELD_FOR_MS;
  return isRecent && heldMs >= gate.blockedUntil && heldMs <= Math.max(gate.nextAt, nowMs);
}
