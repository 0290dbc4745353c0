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
const Primary = z.object({ ip: z.string().min(1), port: z.coerce.number(), epoch: z.coerce.number() });

type Credentials = Pick<RedisLocation, "username" | "password">;

/**
 * The Sentinels that know where the primary is, by a connection to each. Sentinels that want a
 * password get that of the store.
 */
export class RedisSentinels {
  readonly #name: string;
  readonly #auth: string[];
  readonly #links: RedisLink[];

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
   * answers within two seconds.
   */
  async find(): Promise<Address> {
    const answers = await Promise.allSettled(this.#links.map((link) => this.#ask(link)));
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const [newest] = found.toSorted((a, b) => b.epoch - a.epoch);
    if (newest !== undefined) return { host: newest.ip, port: newest.port };
    const reasons = answers.flatMap((answer) =>
      answer.status === "rejected" ? [messageOf(answer.reason)] : [],
    );
    throw new Error(`no Sentinel names the primary ${this.#name}: ${[...new Set(reasons)].join(", ")}`);
  }

  close(): void {
    for (const link of this.#links) link.close();
  }

  async #ask(link: RedisLink): Promise<z.infer<typeof Primary>> {
    await link.untilReady(ANSWER_WITHIN_MS);
    const fields = Fields.parse(await inTime(this.#primaryOf(link)));
    const epoch = fields.get("config-epoch");
    return Primary.parse({ ip: fields.get("ip"), port: fields.get("port"), epoch });
  }

  async #primaryOf({ client }: RedisLink): Promise<unknown> {
    const command = ["SENTINEL", "MASTER", this.#name];
    try {
      return await client.sendCommand(command);
    } catch (thrown) {
      if (!messageOf(thrown).startsWith("NOAUTH") || this.#auth.length === 0) throw thrown;
      await client.sendCommand(["AUTH", ...this.#auth]);
      return client.sendCommand(command);
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
