import { createClient } from "@redis/client";
import { z } from "zod";
import { messageOf } from "../../errors.ts";
import type { Address, RedisLocation, SentinelsAt } from "./redis-location.ts";
import { RedisLink } from "./redis-link.ts";

const ANSWER_WITHIN_MS = 1_000;
const SILENT_FOR_MS = 6_000;
const RECONNECT_AT_MOST_MS = 1_000;

/** The fields of `SENTINEL MASTER`, names and values in turn. */
const Fields = z
  .array(z.string())
  .transform((words) => new Map(words.flatMap((word, n) => (n % 2 === 0 ? [[word, words[n + 1]]] : []))));
const Named = z.tuple([z.string().min(1), z.coerce.number()]);
const Epoch = z.coerce.number();

/** What one Sentinel says. A higher epoch is newer. */
type Primary = Address & { epoch: number };

type Credentials = Pick<RedisLocation, "username" | "password">;

/**
 * The Sentinels that know where the primary is, by a connection to each. Sentinels that want a
 * password get that of the store.
 */
export class RedisSentinels {
  readonly #name: string;
  readonly #auth: string[];
  readonly #links: RedisLink[];
  /** That of the answer that was followed last. */
  #epoch = 0;

  constructor({ name, addresses }: SentinelsAt, { username, password }: Credentials) {
    this.#name = name;
    this.#auth = [username, password].filter((word) => word !== "").map(decodeURIComponent);
    this.#links = addresses.map(
      ({ host, port }) =>
        new RedisLink({
          makeClient: () =>
            createClient({
              disableOfflineQueue: true,
              pingInterval: SILENT_FOR_MS / 2,
              socket: {
                host,
                port,
                connectTimeout: ANSWER_WITHIN_MS,
                socketTimeout: SILENT_FOR_MS,
                reconnectStrategy: (attempts) => Math.min(50 * 2 ** attempts, RECONNECT_AT_MOST_MS),
              },
            }),
          onReady: noop,
          onError: noop,
        }),
    );
    for (const link of this.#links) link.connect().catch(noop);
  }

  /**
   * Asks all of them. Resolves to the primary's address, by the newest of their answers: one that
   * is cut off from the others may still name an earlier primary. Rejects with the reason if none
   * answers within two seconds, or if a minority answers that knows less than was known before.
   */
  async find(): Promise<Address> {
    const answers = await Promise.allSettled(this.#links.map((link) => this.#ask(link)));
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const [newest] = found.toSorted((a, b) => b.epoch - a.epoch);
    if (newest !== undefined) {
      // Sentinels that were set up anew begin with a low epoch, and so most of them have one then.
      if (newest.epoch < this.#epoch && 2 * found.length <= this.#links.length) {
        throw new Error(`only Sentinels answer that name an earlier primary of ${this.#name}`);
      }
      this.#epoch = newest.epoch;
      return { host: newest.host, port: newest.port };
    }
    const reasons = answers.flatMap((answer) =>
      answer.status === "rejected" ? [messageOf(answer.reason)] : [],
    );
    throw new Error(`no Sentinel names the primary ${this.#name}: ${[...new Set(reasons)].join(", ")}`);
  }

  close(): void {
    for (const link of this.#links) link.close();
  }

  async #ask(link: RedisLink): Promise<Primary> {
    await link.untilReady(ANSWER_WITHIN_MS);
    return inTime(this.#primaryOf(link));
  }

  async #primaryOf({ client }: RedisLink): Promise<Primary> {
    const fields = Fields.parse(await this.#send(client, ["SENTINEL", "MASTER", this.#name]));
    // During a failover, the fields have the new epoch with the earlier address.
    const named = await this.#send(client, ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#name]);
    const [host, port] = Named.parse(named);
    return { host, port, epoch: Epoch.parse(fields.get("config-epoch")) };
  }

  async #send(client: RedisLink["client"], command: string[]): Promise<unknown> {
    try {
      return await client.sendCommand(command);
    } catch (thrown) {
      if (!messageOf(thrown).startsWith("NOAUTH") || this.#auth.length === 0) throw thrown;
      await this.#logIn(client);
      return client.sendCommand(command);
    }
  }

  /** Sentinels often have a password and no users, whatever Redis has. */
  async #logIn(client: RedisLink["client"]): Promise<void> {
    try {
      await client.sendCommand(["AUTH", ...this.#auth]);
    } catch (thrown) {
      if (!messageOf(thrown).startsWith("WRONGPASS") || this.#auth.length < 2) throw thrown;
      await client.sendCommand(["AUTH", ...this.#auth.slice(1)]);
    }
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(reject, ANSWER_WITHIN_MS, new Error("no answer in time"));
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function noop(): void {}
