import { ErrorReply } from "@redis/client";
import { z } from "zod";
import type { Confirmations } from "../../store/redis/confirmations.ts";
import type { RedisConnection } from "../../store/redis/redis-connection.ts";
import { KEEP_DONE_MS } from "../storable-task.ts";
import { WORK } from "./task-script.ts";

/** A request to the script. See `WORK`. */
export type Work = { kind: "commit" | "renew" | "release"; args: readonly (string | number)[] };

/** A call's claim. Either `resolve` or `reject` is called. */
export type ClaimAsked = { text: string } & Pick<PromiseWithResolvers<unknown>, "resolve" | "reject">;

type Options = {
  redis: RedisConnection;
  /** Absent if no standby has to confirm anything. */
  confirmations?: Confirmations | null;
  leaseMs: number;
  /**
   * Called before each call. Returns what to claim with it, or null. Requests that it makes itself
   * come first in the call.
   */
  onCall: () => ClaimAsked | null;
};

/** The most requests in one call, because Redis does nothing else while it runs the script. */
const AT_ONCE = 50;

const Answers = z.array(z.unknown());

/** The script's answer to a request, and the number of the call that brought it. */
type Answered = { answer: unknown; call: number };
type Asked = PromiseWithResolvers<Answered> & Work;

/** Calls the script, one call at a time, with everything requested in the meantime, in order. */
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
   * Resolves to the script's answer. Rejects with a `StoreUnavailableError`, after which the
   * request may still have been carried out.
   */
  ask(work: Work): Promise<Answered> {
    const asked = { ...Promise.withResolvers<Answered>(), ...work };
    this.#asked.push(asked);
    this.callSoon();
    return asked.promise;
  }

  /** Makes a call even if nothing is requested by then. */
  callSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    if (this.#calling === null) setImmediate(() => void this.#callOn());
  }

  /** Resolves once no requests are left. */
  async settled(): Promise<void> {
    while (this.#isSoon || this.#calling !== null) {
      await (this.#calling ?? new Promise((resolve) => setImmediate(resolve)));
    }
  }

  async #callOn(): Promise<void> {
    this.#isSoon = false;
    // Set before `onCall` asks for something, which must not begin a second call.
    this.#calling = Promise.resolve().then(() => this.#call());
    await this.#calling;
    this.#calling = null;
    if (this.#isSoon) setImmediate(() => void this.#callOn());
  }

  async #call(): Promise<void> {
    const { redis, confirmations, leaseMs, onCall } = this.#options;
    const waiting = this.#asked;
    this.#asked = [];
    const claim = onCall();
    this.#asked.push(...waiting);
    const asked = this.#asked.splice(0, AT_ONCE);
    this.#isSoon = this.#asked.length > 0;
    if (asked.length === 0 && claim === null) return;
    const works = asked.flatMap(({ kind, args }) => [kind, args.length, ...args]);
    this.#calls += 1;
    const call = this.#calls;
    const all = [
      ...asked.map(({ resolve, reject }) => ({
        resolve: (answer: unknown) => resolve({ answer, call }),
        reject,
      })),
      ...(claim === null ? [] : [claim]),
    ];
    const begin = [redis.now, leaseMs, KEEP_DONE_MS, call, claim?.text ?? "", confirmations?.process ?? ""];
    const args = [...begin, ...works].map(String);
    try {
      const answers = Answers.parse(await redis.run(WORK, args));
      for (const [n, { resolve, reject }] of all.entries()) {
        const answer = answers[n];
        const [kind, reason]: unknown[] = Array.isArray(answer) ? answer : [];
        if (kind === "failed") reject(redis.toStoreError(new ErrorReply(String(reason))));
        else resolve(answer);
      }
    } catch (thrown) {
      for (const { reject } of all) reject(thrown);
    }
  }
}
