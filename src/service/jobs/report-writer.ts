import { isDeepStrictEqual } from "node:util";
import type { Usage } from "../../shared/contract/turn.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import type { NotedReport, TurnReport } from "./job-store.ts";
import { oneLine } from "../base/printable-text.ts";
import { sumOf, type RunnerReport } from "../runner/runner.ts";

const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;
const MAX_CHARS = 64 * 1024;
/** Each write waits for the disk, and an agent can report hundreds of lines a second. */
const WRITE_EVERY_MS = 1000;
/**
 * Parts that the job's record shows are written less often, because each write goes to every client
 * that reads the feed.
 */
const SHOW_EVERY_MS = 5000;

type Shown = Omit<TurnReport, "progress">;

/**
 * Stores what the runner reports about a turn from time to time: the last lines, the step, the
 * plan, and the usage.
 */
export class ReportWriter {
  readonly #clock: Clock;
  readonly #write: (report: TurnReport) => void;
  readonly #lines: string[];
  readonly #usedBefore: Usage | null;
  #chars: number;
  /** Of this attempt. */
  #usage: Usage | null = null;
  /** The reported parts that the record shows. The usage is that of all attempts. */
  #now: Shown;
  /** The same as last written, and when, by the monotonic clock. */
  #shown: Shown;
  #shownAtMs = -Infinity;
  #cancelWrite: (() => void) | null = null;
  #isClosed = false;

  /**
   * `before` is what earlier attempts left: their lines are continued, and their usage counts.
   * `write` may throw. Then the next write includes what this one didn't store.
   */
  constructor(
    clock: Clock,
    before: Pick<TurnReport, "progress" | "usage">,
    write: (report: TurnReport) => void,
  ) {
    this.#clock = clock;
    this.#write = write;
    this.#lines = [...before.progress];
    this.#chars = before.progress.reduce((sum, line) => sum + line.length, 0);
    this.#usedBefore = before.usage;
    this.#now = this.#shown = { step: null, plan: [], usage: before.usage };
  }

  /** What this attempt has used. Null if nothing is known of it. */
  get used(): Usage | null {
    return this.#usage;
  }

  line(text: string): void {
    const shown = oneLine(text, MAX_LINE_CHARS);
    if (this.#isClosed || shown === "") return;
    this.#lines.push(shown);
    this.#chars += shown.length;
    while (this.#lines.length > MAX_LINES || this.#chars > MAX_CHARS) {
      this.#chars -= this.#lines.shift()?.length ?? 0;
    }
    this.#writeLater();
  }

  /** `usage` is that of this attempt. */
  add({ lines = [], step, plan, usage }: Omit<RunnerReport, keyof NotedReport>): void {
    for (const line of lines) this.line(line);
    this.#now = {
      ...this.#now,
      ...(step !== undefined && { step: oneLine(step, MAX_LINE_CHARS) }),
      ...(plan !== undefined && { plan }),
    };
    // The cost that an agent states itself doesn't replace what was counted.
    if (usage !== undefined && (usage.calls !== null || this.#usage?.calls == null)) {
      this.#usage = usage;
      this.#now.usage = sumOf(this.#usedBefore, usage);
    }
    this.#writeLater();
  }

  /** Writes the rest. Later reports are dropped. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#cancelWrite !== null) this.#flush();
  }

  #writeLater(afterMs = WRITE_EVERY_MS): void {
    if (this.#isClosed) return;
    this.#cancelWrite ??= this.#clock.wakeAt(this.#clock.now() + afterMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    const isNew = !isDeepStrictEqual(this.#now, this.#shown);
    const waitMs = this.#shownAtMs + SHOW_EVERY_MS - this.#clock.monotonicMs();
    if (isNew && (waitMs <= 0 || this.#isClosed)) {
      this.#shown = this.#now;
      this.#shownAtMs = this.#clock.monotonicMs();
    } else if (isNew) this.#writeLater(waitMs);
    try {
      this.#write({ progress: this.#lines, ...this.#shown });
    } catch {
      // A report isn't essential. If the database can't be written, the end of the turn will say
      // so.
    }
  }
}
