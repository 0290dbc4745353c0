import type { Clock } from "../core/clock.ts";

type Options = {
  clock: Pick<Clock, "monotonicMs">;
  write: (text: string) => void;
  /** A terminal gets one line that changes, a log a line now and then. */
  isTerminal: boolean;
};

const TERMINAL_EVERY_MS = 200;
const LOG_EVERY_MS = 5_000;
/** What takes less needs no progress. */
const FIRST_AFTER_MS = 1_000;

/** Says how far a dump or a load has come. */
export class Progress {
  readonly #options: Options;
  #saidAtMs: number;
  #isLineOpen = false;

  constructor(options: Options) {
    this.#options = options;
    this.#saidAtMs = options.clock.monotonicMs() + FIRST_AFTER_MS - this.#everyMs;
  }

  /** Begins a step of about `total` entries. Returns a function to call with how many more are done. */
  begin(what: string, total: number): (more: number) => void {
    let done = 0;
    return (more) => {
      done += more;
      const nowMs = this.#options.clock.monotonicMs();
      if (nowMs - this.#saidAtMs < this.#everyMs) return;
      this.#saidAtMs = nowMs;
      this.#say(
        `${what} ${done.toLocaleString("en")} of about ${Math.max(done, total).toLocaleString("en")}`,
      );
    };
  }

  /** Ends the line that changes. */
  end(): void {
    if (this.#isLineOpen) this.#options.write("\n");
    this.#isLineOpen = false;
  }

  get #everyMs(): number {
    return this.#options.isTerminal ? TERMINAL_EVERY_MS : LOG_EVERY_MS;
  }

  #say(line: string): void {
    this.#isLineOpen = this.#options.isTerminal;
    // The rest of a longer line before it is erased.
    this.#options.write(this.#isLineOpen ? `\r${line}\u001B[K` : `${line}\n`);
  }
}
