import { ErrorReply } from "@redis/client";
import { z } from "zod";
import type { RedisConnection } from "../../store/redis/redis-connection.ts";
import { KEEP_DONE_MS } from "../storable-task.ts";
import { WORK } from "./task-script.ts";

/** What is asked of the script: see `WORK`. */
export type Work = { kind: "commit" | "renew" | "release" | "unclaim"; args: readonly string[] };

/** What a call claims. Either `answered` or `failed` is called. */
export type ClaimAsked = {
  text: string;
  answered: (answer: unknown) => void;
  failed: (thrown: unknown) => void;
};

type Options = {
  redis: RedisConnection;
  /** The first argument of every script, see `task-script.ts`. */
  now: () => string;
  leaseMs: number;
  /**
   * Called before each call: what to claim with it, or null. What it asks for itself comes first in
   * the call.
   */
  onCall: () => ClaimAsked | null;
};

/** Redis does nothing else while it runs the script. */
const AT_ONCE = 50;

const Answers = z.array(z.unknown());
const Failed = z.tuple([z.literal("failed"), z.string()]);

type Asked = PromiseWithResolvers<unknown> & Work & { heard: (answer: unknown) => void };

/**
 * Calls the script, one call at a time, with all that was asked meanwhile, in the order in which it
 * was asked.
 */
export class RedisWork {
  readonly #options: Options;
  #asked: Asked[] = [];
  #calls = 0;
  #isSoon = false;
  #calling: Promise<void> | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Resolves to what the script answers. Rejects with a `StoreUnavailableError`; it may have been
   * done then. `heard`: is called with the answer before anybody acts on what came with the same
   * call.
   */
  ask(work: Work, heard: (answer: unknown) => void = noop): Promise<unknown> {
    const asked = { ...Promise.withResolvers<unknown>(), ...work, heard };
    this.#asked.push(asked);
    this.callSoon();
    return asked.promise;
  }

  /** Makes a call, also if nothing is asked by then. */
  callSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    if (this.#calling === null) setImmediate(() => void this.#callOn());
  }

  /** Resolves once nothing is asked any more. */
  async settled(): Promise<void> {
    while (this.#isSoon || this.#calling !== null) {
      await (this.#calling ?? new Promise((resolve) => setImmediate(resolve)));
    }
  }

  async #callOn(): Promise<void> {
    this.#isSoon = false;
    this.#calling = this.#call();
    await this.#calling;
    this.#calling = null;
    if (this.#isSoon) setImmediate(() => void this.#callOn());
  }

  async #call(): Promise<void> {
    const { redis, now, leaseMs, onCall } = this.#options;
    const waiting = this.#asked;
    this.#asked = [];
    const claim = onCall();
    const all = [...this.#asked, ...waiting];
    const asked = all.slice(0, AT_ONCE);
    this.#asked = all.slice(AT_ONCE);
    this.#isSoon = this.#asked.length > 0;
    if (asked.length === 0 && claim === null) return;
    const works = asked.flatMap(({ kind, args }) => [kind, String(args.length), ...args]);
    try {
      this.#calls += 1;
      const settings = [leaseMs, KEEP_DONE_MS, this.#calls].map(String);
      const args = [now(), ...settings, claim?.text ?? "", ...works];
      const answers = Answers.parse(await redis.run(WORK, args));
      for (const [n, { heard }] of asked.entries()) heard(answers[n]);
      for (const [n, { resolve, reject }] of asked.entries()) {
        const failed = Failed.safeParse(answers[n]);
        if (failed.success) reject(redis.toStoreError(new ErrorReply(failed.data[1])));
        else resolve(answers[n]);
      }
      const failed = Failed.safeParse(answers[asked.length]);
      if (failed.success) claim?.failed(redis.toStoreError(new ErrorReply(failed.data[1])));
      else claim?.answered(answers[asked.length]);
    } catch (thrown) {
      for (const { reject } of asked) reject(thrown);
      claim?.failed(thrown);
    }
  }
}

function noop(): void {}
