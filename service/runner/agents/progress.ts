import { oneLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";

const MAX_LINE_LENGTH = 300;
const MAX_LINES = 1000;
/** A line that never ends is passed on in pieces. */
const MAX_PENDING_LENGTH = 4000;

/**
 * Passes an agent's words on as lines: bounded in length and number, without control characters and
 * secrets.
 */
export class ProgressLines {
  readonly #take: (line: string) => void;
  readonly #redact: Redact;
  #pending = "";
  #lines = 0;

  constructor(take: (line: string) => void, redact: Redact) {
    this.#take = take;
    this.#redact = redact;
  }

  /** Adds text that may end in mid-line. */
  write(text: string): void {
    this.#pending += text;
    const lines = this.#pending.split("\n");
    this.#pending = lines.pop() ?? "";
    for (const line of lines) this.#emit(line);
    if (this.#pending.length > MAX_PENDING_LENGTH) this.flush();
  }

  /** Adds a whole line. */
  line(text: string): void {
    this.flush();
    this.#emit(text);
  }

  flush(): void {
    const rest = this.#pending;
    this.#pending = "";
    this.#emit(rest);
  }

  #emit(text: string): void {
    if (this.#lines >= MAX_LINES) return;
    // Redacted before it is cut: half a secret is one too.
    const line = oneLine(this.#redact(text), MAX_LINE_LENGTH);
    if (line === "") return;
    this.#lines += 1;
    this.#take(this.#lines === MAX_LINES ? "… (no more progress is kept)" : line);
  }
}
