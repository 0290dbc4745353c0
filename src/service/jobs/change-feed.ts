import { z } from "zod";
import type { Clock } from "../../shared/machine/ports.ts";
import { JobRow, SELECT_JOB } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** The most requests of a project that may wait for changes at once. */
const MAX_WAITING = 32;

type Waiter = { projectId: string; after: number; wake: () => void };

const FeedRow = z.object({ last: z.int(), incarnation: z.string() });
const ChangedRow = JobRow.extend({ changed: z.int() });

/**
 * The jump in the numbers of changes at each start. A power cut may lose the newest numbers, which
 * clients have seen already. Later ones must be higher.
 */
const START_JUMP = 1_000_000;

/**
 * Tells which jobs have changed, and lets requests wait until a job of their project does. Triggers
 * in the schema number each change, so that no write can forget it. A job keeps only the number of
 * its newest change.
 */
export class ChangeFeed {
  readonly #tables: Tables;
  readonly #waiting = new Set<Waiter>();
  #isLookPending = false;
  #isClosed = false;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Call this when the service starts. */
  begin(): void {
    this.#tables.run(`UPDATE feed SET last = last + ?`, START_JUMP);
  }

  /** A project's jobs that changed after this number, in the order of their changes. */
  after(projectId: string, after: number, limit: number): (JobRow & { changed: number })[] {
    const sql = `SELECT *, (SELECT changed FROM jobs WHERE id = job.id) AS changed FROM (${SELECT_JOB}
      WHERE project_id = ? AND changed > ? ORDER BY jobs.changed LIMIT ?) AS job ORDER BY changed`;
    return this.#tables.all(ChangedRow, sql, projectId, after, limit);
  }

  /**
   * Converts a number to a cursor: text that means nothing to clients or to another database.
   * @default the newest change of all projects
   */
  toCursor(number?: number): string {
    const { incarnation, last } = this.#feed();
    return Buffer.from(`${incarnation}.${number ?? last}`).toString("base64url");
  }

  /** The number in a cursor of {@link toCursor}. Null if this database didn't make it. */
  parseCursor(cursor: string): number | null {
    const text = Buffer.from(cursor, "base64url").toString();
    const [, incarnation, digits] = /^([0-9a-f]+)\.(\d{1,15})$/.exec(text) ?? [];
    const { incarnation: ours, last } = this.#feed();
    return incarnation === ours && Number(digits) <= last ? Number(digits) : null;
  }

  /**
   * Resolves to true once a job of the project has changed after this number, the time is over, the
   * signal aborts or the feed is closed. Resolves to false at once if too many are waiting already.
   */
  async wait(
    projectId: string,
    after: number,
    { clock, forMs, signal }: { clock: Clock; forMs: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (this.#isClosed || forMs === 0 || this.#lastOf(projectId) > after) return true;
    const waiting = [...this.#waiting].filter((waiter) => waiter.projectId === projectId);
    if (waiting.length >= MAX_WAITING) return false;
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    const waiter = { projectId, after, wake };
    this.#waiting.add(waiter);
    const cancel = clock.wakeAt(clock.now() + forMs, wake);
    signal.addEventListener("abort", () => wake(), { once: true });
    if (signal.aborted) wake();
    try {
      await promise;
      return true;
    } finally {
      cancel();
      this.#waiting.delete(waiter);
    }
  }

  /**
   * Called after a write, or inside its transaction. It soon wakes the requests whose project has
   * changed.
   */
  look(): void {
    if (this.#isLookPending || this.#waiting.size === 0) return;
    this.#isLookPending = true;
    setImmediate(() => {
      this.#isLookPending = false;
      for (const { projectId, after, wake } of this.#waiting) {
        try {
          if (this.#lastOf(projectId) > after) wake();
        } catch {
          // Its request reads, too, and says what is wrong.
          wake();
        }
      }
    });
  }

  /** Wakes all who wait, and from then on nobody waits. */
  close(): void {
    this.#isClosed = true;
    for (const { wake } of this.#waiting) wake();
  }

  /** The number of a project's newest change. */
  #lastOf(projectId: string): number {
    return this.#tables.value(z.int(), `SELECT max(changed) FROM jobs WHERE project_id = ?`, projectId) ?? 0;
  }

  #feed(): z.infer<typeof FeedRow> {
    return this.#tables.one(FeedRow, `SELECT last, incarnation FROM feed`) ?? { last: 0, incarnation: "" };
  }
}
