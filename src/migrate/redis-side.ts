import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { messageOf } from "../errors.ts";
import { PUT_TASKS, READ_TASKS, REMOVE_TASKS } from "../queue/redis/task-scripts.ts";
import { KEEP_DONE_MS } from "../queue/storable-task.ts";
import { StoreMigratingError, migrationKey } from "../store/migration-mark.ts";
import { checkRedis } from "../store/redis/check-redis.ts";
import { RedisConnection } from "../store/redis/redis-connection.ts";
import { REMOVED_AFTER_MS, fromEntryText, toEntryText } from "../store/redis/redis-storage.ts";
import { MigrationError } from "./migration-error.ts";
import {
  type DoneEntry,
  type Entry,
  type EntryKey,
  PAGE_SIZE,
  RECORD_KINDS,
  type RecordEntry,
  type Source,
  type Target,
  type TaskEntry,
  keyText,
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
/** A source is held for so long after its process died. */
const HELD_FOR_MS = 60_000;
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
  #held: { migration: string; renewing: NodeJS.Timeout } | null = null;

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
      throw new MigrationError(
        `The clock of ${this.name} is ${Math.round(Math.abs(apartMs) / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"} this machine's. Set both right, and run this again.`,
      );
    }
    const others = await this.#connections();
    if (others > 0) {
      throw new MigrationError(
        `An app is using ${this.name} (${others} connections). Stop all replicas, and run this again. Redis notices within minutes that a machine has disappeared.`,
      );
    }
  }

  async migration(): Promise<string | null> {
    const migration = await this.#redis.ask((client) => client.get(this.#migrationKey));
    return migration === this.#held?.migration ? null : migration;
  }

  async hold(migration: string): Promise<void> {
    const key = this.#migrationKey;
    const set = () =>
      this.#redis.ask((client) =>
        client.set(key, migration, { expiration: { type: "PX", value: HELD_FOR_MS } }),
      );
    const there = await this.migration();
    // That of an earlier attempt, which ended before it could take it away.
    if (there !== null && there !== migration) throw new StoreMigratingError(this.name, there);
    await set();
    const renewing = setInterval(() => void set().catch(() => {}), HELD_FOR_MS / 4);
    this.#held = { migration, renewing };
  }

  async note(migration: string | null): Promise<void> {
    const key = this.#migrationKey;
    if (migration === null) await this.#redis.ask((client) => client.del(key));
    else await this.#redis.ask((client) => client.set(key, migration));
  }

  async count(): Promise<number> {
    let count = 0;
    for await (const keys of this.#keys()) count += keys.length;
    return count;
  }

  async *pages(): AsyncGenerator<Entry[]> {
    for await (const keys of this.#keys()) {
      for (let n = 0; n < keys.length; n += PAGE_SIZE) {
        const found = await this.find(keys.slice(n, n + PAGE_SIZE));
        yield [...found.values()];
      }
    }
  }

  async find(keys: readonly EntryKey[]): Promise<Map<string, Entry>> {
    const of = Map.groupBy(keys, ({ kind }) => kind);
    const found = await Promise.all([
      this.#findRecords((of.get("record") ?? []).map(({ id }) => id)),
      this.#findTasks((of.get("task") ?? []).map(({ id }) => id)),
      this.#findDone((of.get("done") ?? []).map(({ id }) => id)),
    ]);
    return new Map(found.flat().map((entry) => [keyText(entry), entry]));
  }

  async put(entries: readonly Entry[]): Promise<void> {
    const tasks = entries.filter((entry) => entry.kind === "task");
    if (tasks.length > 0) await this.#redis.run(PUT_TASKS, [this.#now, ...tasks.flatMap(scriptFieldsOf)]);
    const nowMs = this.#clock.now();
    await this.#redis.ask((client) =>
      Promise.all(
        entries.flatMap((entry) => {
          if (entry.kind === "task") return [];
          const text = entry.kind === "record" ? toEntryText(entry) : String(entry.endedAt);
          const goneAt = entry.kind === "record" ? entry.expiresAt : entry.endedAt + KEEP_DONE_MS;
          if (goneAt === null) return [client.set(this.#keyOf(entry), text)];
          // As its own writers have Redis keep it.
          const keepMs = goneAt - nowMs + (entry.kind === "record" ? REMOVED_AFTER_MS : DAY_MS);
          const value = Math.max(1, keepMs);
          return [client.set(this.#keyOf(entry), text, { expiration: { type: "PX", value } })];
        }),
      ),
    );
  }

  async remove(keys: readonly EntryKey[]): Promise<void> {
    const tasks = keys.filter(({ kind }) => kind === "task").map(({ id }) => id);
    if (tasks.length > 0) await this.#redis.run(REMOVE_TASKS, [this.#now, ...tasks]);
    const others = keys.filter(({ kind }) => kind !== "task").map((key) => this.#keyOf(key));
    if (others.length > 0) await this.#redis.ask((client) => client.unlink(others));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#held !== null) {
      clearInterval(this.#held.renewing);
      // If it fails, it is over in a minute.
      await this.note(null).catch(() => {});
    }
    await this.#redis.close();
  }

  get #now(): string {
    return this.#serverNow === undefined ? "" : String(this.#serverNow());
  }

  get #migrationKey(): string {
    return migrationKey(this.#redis.prefix);
  }

  /** The key of a record or of a done task. */
  #keyOf({ kind, id }: EntryKey): string {
    return `${this.#redis.prefix}:${kind === "record" ? id : `done:${id}`}`;
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

  /** The keys of all entries, a page of Redis's at a time. */
  async *#keys(): AsyncGenerator<EntryKey[]> {
    const { prefix } = this.#redis;
    let cursor = "0";
    do {
      const at = cursor;
      const page = await this.#redis.ask((client) =>
        client.scan(at, { MATCH: `${prefix}:*`, COUNT: SCAN_COUNT }),
      );
      ({ cursor } = page);
      const keys = page.keys.flatMap((key) => entryKeyOf(key.slice(prefix.length + 1)));
      if (keys.length > 0) yield keys;
    } while (cursor !== "0");
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
      throw new MigrationError(`The task ${id} in ${this.name} is damaged. Remove it, and run this again.`);
    });
  }
}

/** What a key, without the prefix, stands for. */
function entryKeyOf(key: string): EntryKey[] {
  const [begin = "", ...rest] = key.split(":");
  if (begin === "task" || begin === "done") return [{ kind: begin, id: rest.join(":") }];
  return RECORD_KINDS.includes(begin) ? [{ kind: "record", id: key }] : [];
}
