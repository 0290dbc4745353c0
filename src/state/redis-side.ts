import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { messageOf } from "../errors.ts";
import { PUT_TASKS, READ_TASKS } from "./task-scripts.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";
import { halfLoadedKey } from "../store/load-mark.ts";
import { checkRedis } from "../store/redis/check-redis.ts";
import { RedisConnection } from "../store/redis/redis-connection.ts";
import { REMOVED_AFTER_MS, fromEntryText, toEntryText } from "../store/redis/redis-storage.ts";
import { StateError } from "./state-error.ts";
import {
  type DoneEntry,
  type Entry,
  type EntryKey,
  PAGE_SIZE,
  RECORD_KINDS,
  type RecordEntry,
  type SeriesEntry,
  type Source,
  type Target,
  type TaskEntry,
  movableText,
} from "./side.ts";
import { scriptFieldsOf, tasksOf } from "./task-fields.ts";

export type RedisSideOptions = {
  url: string;
  clock: Clock;
  logger: Logger;
  /** For tests: Redis's time, epoch milliseconds. */
  serverNow?: (() => number) | undefined;
};

const DAY_MS = 24 * 60 * 60_000;
/** Tasks have times by Redis's clock, records by this machine's. */
const CLOCKS_APART_MS = 10_000;
const SCAN_COUNT = 1_000;

/** Opens a Redis to read from it. It stays as it is. */
export function openRedisSource(options: RedisSideOptions): Promise<Source> {
  return open(options);
}

/** Opens a Redis to write to it. Rejects where it is set up to forget what it holds. */
export async function openRedisTarget(options: RedisSideOptions): Promise<Target> {
  const side = await open(options);
  try {
    await side.assertDurable();
  } catch (thrown) {
    await side[Symbol.asyncDispose]();
    throw thrown;
  }
  return side;
}

async function open(options: RedisSideOptions): Promise<RedisSide> {
  const redis = await RedisConnection.open(
    options.url,
    options.logger,
    "Check that Redis runs and that the URL is right, and run this again.",
  );
  return new RedisSide(redis, options);
}

class RedisSide implements Source, Target {
  readonly name: string;
  readonly #redis: RedisConnection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #serverNow: (() => number) | undefined;

  constructor(redis: RedisConnection, { clock, logger, serverNow }: RedisSideOptions) {
    this.name = redis.shown;
    this.#redis = redis;
    this.#clock = clock;
    this.#logger = logger;
    this.#serverNow = serverNow;
  }

  async assertDurable(): Promise<void> {
    const { risk } = await checkRedis(this.#redis);
    if (risk !== null) this.#logger.warn({ store: this.name }, `store: ${risk}`);
  }

  async assertUnused(): Promise<void> {
    const apartMs = (await this.#serverTime()) - this.#clock.now();
    if (Math.abs(apartMs) > CLOCKS_APART_MS) {
      throw new StateError(
        `The clock of ${this.name} is ${Math.round(Math.abs(apartMs) / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"} this machine's. Set both right, and run this again.`,
      );
    }
    const others = await this.#connections();
    if (others > 0) {
      throw new StateError(
        `An app is using ${this.name} (${others} connections). Stop all replicas, and run this again. Redis notices within minutes that a machine has disappeared.`,
      );
    }
  }

  async isHalfLoaded(): Promise<boolean> {
    return (await this.#redis.ask((client) => client.exists(halfLoadedKey(this.#redis.prefix)))) > 0;
  }

  async markHalfLoaded(isHalf: boolean): Promise<void> {
    const key = halfLoadedKey(this.#redis.prefix);
    if (isHalf) await this.#redis.ask((client) => client.set(key, "1"));
    else await this.#redis.ask((client) => client.del(key));
  }

  async count(): Promise<number> {
    let count = 0;
    for await (const keys of this.#keys()) count += keys.length;
    return count;
  }

  async *pages(): AsyncGenerator<Entry[]> {
    const seen = new Set<string>();
    for await (const all of this.#keys()) {
      // Redis may name a key twice.
      const keys = all.filter(({ kind, id }) => !seen.has(`${kind} ${id}`));
      for (const { kind, id } of keys) seen.add(`${kind} ${id}`);
      for (let n = 0; n < keys.length; n += PAGE_SIZE) yield await this.#read(keys.slice(n, n + PAGE_SIZE));
    }
  }

  async put(entries: readonly Entry[]): Promise<void> {
    const tasks = entries.filter((entry) => entry.kind === "task");
    if (tasks.length > 0) await this.#redis.run(PUT_TASKS, [this.#now, ...tasks.flatMap(scriptFieldsOf)]);
    const nowMs = this.#clock.now();
    await this.#redis.ask((client) =>
      Promise.all(
        entries.flatMap((entry): Promise<unknown>[] => {
          if (entry.kind === "task") return [];
          const key = this.#keyOf(entry);
          if (entry.kind === "series") {
            // What a load puts there is always new.
            return [
              client.rPush(key, entry.entries),
              client.pExpire(key, Math.max(1, entry.expiresAt - nowMs)),
            ];
          }
          const text = entry.kind === "record" ? toEntryText(entry) : String(entry.endedAt);
          const goneAt = entry.kind === "record" ? entry.expiresAt : entry.endedAt + KEEP_DONE_MS;
          if (goneAt === null) return [client.set(key, text)];
          // As its own writers have Redis keep it.
          const keepMs = goneAt - nowMs + (entry.kind === "record" ? REMOVED_AFTER_MS : DAY_MS);
          const value = Math.max(1, keepMs);
          return [client.set(key, text, { expiration: { type: "PX", value } })];
        }),
      ),
    );
  }

  async clear(): Promise<void> {
    const { prefix } = this.#redis;
    const mark = halfLoadedKey(prefix);
    for await (const page of this.#allKeys()) {
      const keys = page.filter((key) => key !== mark);
      if (keys.length > 0) await this.#redis.ask((client) => client.unlink(keys));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis.close();
  }

  get #now(): string {
    return this.#serverNow === undefined ? "" : String(this.#serverNow());
  }

  /** The key of a record, a series or a done task. */
  #keyOf({ kind, id }: EntryKey): string {
    return `${this.#redis.prefix}:${kind === "record" ? id : `${kind}:${id}`}`;
  }

  async #serverTime(): Promise<number> {
    if (this.#serverNow !== undefined) return this.#serverNow();
    const [seconds, micros] = await this.#redis.ask((client) => client.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** How many others are connected on behalf of this store. */
  async #connections(): Promise<number> {
    const { prefix } = this.#redis;
    try {
      const { ownId, all } = await this.#redis.ask(async (client) => ({
        ownId: await client.clientId(),
        all: await client.clientList(),
      }));
      return all.filter(({ id, name }) => id !== ownId && (name === prefix || name.startsWith(`${prefix}:`)))
        .length;
    } catch (thrown) {
      if (!/unknown command|unknown subcommand|NOPERM|no permissions/i.test(messageOf(thrown))) throw thrown;
      this.#logger.warn(
        { store: this.name },
        "Redis doesn't let this program see who is connected. Make sure yourself that no replica is running",
      );
      return 0;
    }
  }

  /** What there is of these keys. */
  async #read(keys: readonly EntryKey[]): Promise<Entry[]> {
    const of = Map.groupBy(keys, ({ kind }) => kind);
    const idsOf = (kind: Entry["kind"]) => (of.get(kind) ?? []).map(({ id }) => id);
    const found = await Promise.all([
      this.#findRecords(idsOf("record")),
      this.#findSeries(idsOf("series")),
      this.#findTasks(idsOf("task")),
      this.#findDone(idsOf("done")),
    ]);
    return found.flat();
  }

  /** The keys of all entries, a page of Redis's at a time. */
  async *#keys(): AsyncGenerator<EntryKey[]> {
    const { prefix } = this.#redis;
    for await (const page of this.#allKeys()) {
      const keys = page.flatMap((key) => entryKeyOf(key.slice(prefix.length + 1)));
      if (keys.length > 0) yield keys;
    }
  }

  async *#allKeys(): AsyncGenerator<string[]> {
    let cursor = "0";
    do {
      const at = cursor;
      const page = await this.#redis.ask((client) =>
        client.scan(at, { MATCH: `${this.#redis.prefix}:*`, COUNT: SCAN_COUNT }),
      );
      ({ cursor } = page);
      yield page.keys;
    } while (cursor !== "0");
  }

  async #findSeries(ids: readonly string[]): Promise<SeriesEntry[]> {
    const all = await this.#redis.ask((client) =>
      Promise.all(
        ids.map(async (id) => {
          const key = this.#keyOf({ kind: "series", id });
          const [entries, leftMs] = await Promise.all([client.lRange(key, 0, -1), client.pTTL(key)]);
          return { kind: "series" as const, id, entries, expiresAt: this.#clock.now() + leftMs };
        }),
      ),
    );
    return all.filter(({ entries }) => entries.length > 0);
  }

  async #findRecords(ids: readonly string[]): Promise<RecordEntry[]> {
    const texts = await this.#texts("record", ids);
    return texts.map(({ id, text: stored }) => {
      const { text, expiresAt } = fromEntryText(stored);
      return { kind: "record", id, text: movableText(text), expiresAt };
    });
  }

  async #findDone(ids: readonly string[]): Promise<DoneEntry[]> {
    const texts = await this.#texts("done", ids);
    return texts.map(({ id, text }) => ({ kind: "done", id, endedAt: Number(text) }));
  }

  async #texts(kind: "record" | "done", ids: readonly string[]): Promise<{ id: string; text: string }[]> {
    if (ids.length === 0) return [];
    const keys = ids.map((id) => this.#keyOf({ kind, id }));
    const texts = await this.#redis.ask((client) => client.mGet(keys));
    return ids.flatMap((id, n) => {
      const text = texts[n];
      return typeof text === "string" ? [{ id, text }] : [];
    });
  }

  async #findTasks(ids: readonly string[]): Promise<TaskEntry[]> {
    if (ids.length === 0) return [];
    const answer = await this.#redis.run(READ_TASKS, [this.#now, ...ids]);
    return tasksOf(ids, answer, (id) => {
      throw new StateError(`The task ${id} in ${this.name} is damaged. Remove it, and run this again.`);
    });
  }
}

/** What a key, without the prefix, stands for. */
function entryKeyOf(key: string): EntryKey[] {
  const [begin = "", ...rest] = key.split(":");
  if (begin === "task" || begin === "done" || begin === "series")
    return [{ kind: begin, id: rest.join(":") }];
  return RECORD_KINDS.includes(begin) ? [{ kind: "record", id: key }] : [];
}
