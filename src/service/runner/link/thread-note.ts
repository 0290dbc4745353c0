import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const NO_RUN = 0;

function noteFileOf(dataDir: string): string {
  return join(dataDir, "runner-thread");
}

/**
 * Notes in a file whose code is on this process's thread. A process that hangs or crashes can't
 * tell anymore, but what it wrote is there.
 */
export class ThreadNote {
  readonly #runs = new AsyncLocalStorage<number>();
  readonly #file: number;
  readonly #noted = Buffer.alloc(4);

  /** Call this once in a process. */
  constructor(dataDir: string) {
    this.#file = openSync(noteFileOf(dataDir), "w", 0o600);
    writeSync(this.#file, this.#noted, 0, this.#noted.length, 0);
    // Before each callback and each continuation of a promise. A write takes microseconds, and is
    // only needed when another run's code takes over.
    createHook({ before: () => this.#note() }).enable();
  }

  /** All that comes of `act` counts as this run's. */
  during<T>(run: number, act: () => T): T {
    return this.#runs.run(run, () => {
      this.#note();
      return act();
    });
  }

  #note(): void {
    const run = this.#runs.getStore() ?? NO_RUN;
    if (this.#noted.readUInt32LE() === run) return;
    this.#noted.writeUInt32LE(run);
    try {
      writeSync(this.#file, this.#noted, 0, this.#noted.length, 0);
    } catch {
      // A hook that throws would end the process. The disk may be full.
    }
  }
}

/** The run whose code was the last on the thread of a runner that is gone. Null if unknown. */
export function lastRunOnThread(dataDir: string): number | null {
  try {
    return readFileSync(noteFileOf(dataDir)).readUInt32LE() || null;
  } catch {
    return null;
  }
}
