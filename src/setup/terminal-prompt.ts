import { createInterface, type Interface } from "node:readline";
import { type Readable, Writable } from "node:stream";
import { StartError } from "../shared/errors.ts";

/** Asks a person in a terminal. */
export class TerminalPrompt implements Disposable {
  readonly #write: (text: string) => void;
  readonly #lines: Interface;
  readonly #arrived: AsyncIterator<string>;
  #isHidden = false;

  constructor({
    input,
    isTerminal,
    write,
  }: {
    input: Readable;
    isTerminal: boolean;
    write: (text: string) => void;
  }) {
    this.#write = write;
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        // A terminal shows what is typed by what readline writes.
        if (!this.#isHidden) write(chunk.toString());
        done();
      },
    });
    this.#lines = createInterface({ input, output, terminal: isTerminal });
    // In a terminal, readline takes Ctrl-C for itself.
    this.#lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    this.#arrived = this.#lines[Symbol.asyncIterator]();
  }

  /**
   * Resolves to the answer, trimmed. A hidden one isn't shown while it is typed. Rejects with a
   * {@link StartError} if nobody can answer.
   */
  async ask(question: string, { isHidden = false }: { isHidden?: boolean } = {}): Promise<string> {
    this.#write(`${question}: `);
    this.#isHidden = isHidden;
    const next = await this.#arrived.next();
    this.#isHidden = false;
    if (isHidden) this.#write("\n");
    if (next.done === true) throw new StartError("The input has ended. Run the command again to go on.");
    return next.value.trim();
  }

  [Symbol.dispose](): void {
    this.#lines.close();
  }
}
