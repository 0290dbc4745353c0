import type { Clock } from "../../core/clock.ts";
import { oneLine } from "../printable-text.ts";

const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;
const MAX_CHARS = 64 * 1024;
/** Each write waits for the disk; an agent can report hundreds of lines a second. */
const WRITE_EVERY_MS = 1000;

/** The last lines that the runner reported of a turn, written down now and then. */
export class ProgressTail {
  readonly #clock: Clock;
  readonly #write: (lines: readonly string[]) => void;
  readonly #lines: string[];
  #chars: number;
  #cancelWrite: (() => void) | null = null;
  #isClosed = false;

  /** `lines`: what an earlier attempt left. `write` may throw; what it did not write is in the next write. */
  constructor(clock: Clock, lines: readonly string[], write: (lines: readonly string[]) => void) {
    this.#clock = clock;
    this.#write = write;
    this.#lines = [...lines];
    this.#chars = lines.reduce((sum, line) => sum + line.length, 0);
  }

  add(line: string): void {
    if (this.#isClosed) return;
    const shown = oneLine(line, MAX_LINE_CHARS);
    if (shown === "") return;
    this.#lines.push(shown);
    this.#chars += shown.length;
    while (this.#lines.length > MAX_LINES || this.#chars > MAX_CHARS) {
      this.#chars -= this.#lines.shift()?.length ?? 0;
    }
    this.#cancelWrite ??= this.#clock.wakeAt(this.#clock.now() + WRITE_EVERY_MS, () => this.#flush());
  }

  /** Writes what is left to write. Later lines are dropped. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#cancelWrite !== null) this.#flush();
  }

  #flush(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    try {
      this.#write(this.#lines);
    } catch {
      // Progress is a comfort; the turn's end, which matters, reports a database that cannot be written.
    }
  }
}
