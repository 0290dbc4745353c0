import { ErrorReply } from "@redis/client";
import { z } from "zod";
import type { RedisConnection } from "../../store/redis/redis-connection.ts";
import { WORK } from "./task-scripts.ts";

/** What is asked of the script: see `WORK`. */
export type Work = { kind: "claim" | "commit" | "told" | "release" } & Record<string, unknown>;

/** Redis does nothing else while it runs the script. */
const AT_ONCE = 50;

const Answers = z.array(z.unknown());
const Failed = z.tuple([z.literal("failed"), z.string()]);

type Asked = PromiseWithResolvers<unknown> & { text: string };

/** Has Redis do what is asked in one turn of the event loop with one script, in the order in which it is asked. */
export class RedisWork {
  readonly #redis: RedisConnection;
  readonly #now: () => string;
  #asked: Asked[] = [];

  /** `now`: the first argument of every script, see `task-scripts.ts`. */
  constructor(redis: RedisConnection, now: () => string) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Resolves to what the script answers. Rejects with a `StoreUnavailableError`; it may have been done then. */
  ask(work: Work): Promise<unknown> {
    const asked = { ...Promise.withResolvers<unknown>(), text: JSON.stringify(work) };
    this.#asked.push(asked);
    if (this.#asked.length === 1) setImmediate(() => this.#askAll());
    return asked.promise;
  }

  #askAll(): void {
    const all = this.#asked;
    this.#asked = [];
    for (let first = 0; first < all.length; first += AT_ONCE)
      void this.#run(all.slice(first, first + AT_ONCE));
  }

  async #run(asked: readonly Asked[]): Promise<void> {
    try {
      const answers = Answers.parse(
        await this.#redis.run(WORK, [this.#now(), ...asked.map(({ text }) => text)]),
      );
      for (const [n, { resolve, reject }] of asked.entries()) {
        const failed = Failed.safeParse(answers[n]);
        if (failed.success) reject(this.#redis.toStoreError(new ErrorReply(failed.data[1])));
        else resolve(answers[n]);
      }
    } catch (thrown) {
      for (const { reject } of asked) reject(thrown);
    }
  }
}
