import { RequestError } from "@agentclientprotocol/sdk";
import type { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { drained } from "./acp-stream.ts";

const AT_ONCE = 4;
const MAX_WAITING = 64;

/**
 * Bounds what answers to an agent take of the service's memory and processes: few are made at once, and none while the agent has not
 * read what it was sent before.
 */
export class AnswerGate {
  readonly #toAgent: Writable;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #isClosed = false;
  #becameIdle: () => void = () => {};

  constructor(toAgent: Writable) {
    this.#toAgent = toAgent;
  }

  /** Resolves or rejects as `make` does, when it is its turn. Rejects with a `RequestError` when too many wait already. */
  async run<Answer>(make: () => Answer | Promise<Answer>): Promise<Answer> {
    if (this.#isClosed) throw refused("The turn is over");
    if (this.#running < AT_ONCE) this.#running += 1;
    else if (this.#waiting.length < MAX_WAITING) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else throw refused("Too much was asked for at once; wait for the answers first");
    try {
      await this.#isRead();
      return await make();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
      if (this.#running === 0) this.#becameIdle();
    }
  }

  /** Takes nothing more. Resolves when all that was taken is done. To be called when the agent is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#becameIdle = resolve));
  }

  async #isRead(): Promise<void> {
    // The answer before this one is on its way by then.
    await setImmediate();
    if (!this.#toAgent.writableNeedDrain) return;
    await drained(this.#toAgent);
  }
}

function refused(why: string): RequestError {
  return RequestError.invalidParams(undefined, why);
}
