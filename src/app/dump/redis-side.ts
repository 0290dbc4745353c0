import type { RedisClientType } from "@redis/client";
import { messageOf } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { KEEP_DONE_MS } from "../../shared/queue/storable-task.ts";
import { type AppRecords, recordSchemas } from "../rules/records.ts";
import { type OpenRedisStoreOptions, checkRedis } from "../../shared/store/redis/open-redis-store.ts";
import { RedisConnection } from "../../shared/store/redis/redis-connection.ts";
import { REMOVED_AFTER_MS, fromEntryText, toEntryText } from "../../shared/store/redis/redis-storage.ts";
import { type Entry, RECORD_KINDS, type Side, StateError, TaskEntry } from "./transfer.ts";

const DAY_MS = 24 * 60 * 60_000;
/** The most that the clocks may differ. Tasks use Redis's time, and records this machine's. */
const CLOCKS_APART_MS = 10_000;
const SCAN_COUNT = 250;
const NUMBERS = new Set(["dueAt", "attempt", "surprises", "deaths", "addedAt", "endedAt", "nextDueAt"]);
const NOTHING_NEXT = { endedAt: null, reason: null, nextPayload: null };

type Options = Omit<OpenRedisStoreOptions<AppRecords>, "keepSetAsideMs" | "schemas">;

/** Opens a Redis. Rejects if it isn't ours to use; as a target, also if it may evict its data. */
export async function openRedisSide(options: Options, isTarget: boolean): Promise<Side> {
  const { logger, url } = options;
  const redis = await RedisConnection.open(url, logger, {
    remedy: "Check that Redis runs and that the URL is right, and run this again.",
  });
  await checkRedis(redis, logger, { purpose: isTarget ? "load" : "dump", kinds: Object.keys(recordSchemas) });
  return new RedisSide(redis, options);
}

/** A Redis, as one side of a dump or a load. */
class RedisSide implements Side {
  readonly #redis: RedisConnection;
  readonly #options: Options;

  constructor(redis: RedisConnection, options: Options) {
    this.#redis = redis;
    this.#options = options;
  }

  get name(): string {
    return this.#redis.shown;
  }

  async assertUnused(): Promise<void> {
    const apartMs = (await this.#serverTime()) - this.#options.clock.now();
    if (Math.abs(apartMs) > CLOCKS_APART_MS) {
      const apart = `${Math.round(Math.abs(apartMs) / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"}`;
      throw new StateError(
        `The clock of ${this.name} is ${apart} this machine's. Set both right, and run this again.`,
      );
    }
    const others = await this.#otherConnections();
    if (others > 0) {
      throw new StateError(
        `An app is using ${this.name} (${others} connections). Stop all replicas, and run this again. ` +
          "Redis notices within minutes that a machine has disappeared.",
      );
    }
  }

  async #serverTime(): Promise<number> {
    const { serverNow } = this.#options;
    if (serverNow !== undefined) return serverNow();
    const [seconds, micros] = await this.#redis.ask((client) => client.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Number of other connections to this store: an app in another database may have its prefix. */
  async #otherConnections(): Promise<number> {
    try {
      const { ownId, all } = await this.#redis.ask(async (client) => ({
        ownId: await client.clientId(),
        all: await client.clientList(),
      }));
      const own = all.find(({ id }) => id === ownId);
      return all.filter(({ id, name, db }) => id !== ownId && name === this.#redis.prefix && db === own?.db)
        .length;
    } catch (thrown) {
      if (!/unknown command|unknown subcommand|NOPERM|no permissions/i.test(messageOf(thrown))) throw thrown;
      this.#options.logger.warn(
        { store: this.name },
        "Redis doesn't let this program see who is connected. Make sure yourself that no replica is running",
      );
      return 0;
    }
  }

  async isHalfLoaded(): Promise<boolean> {
    return (await this.#redis.ask((client) => client.exists(this.#redis.halfLoadedKey))) > 0;
  }

  async markHalfLoaded(isHalf: boolean): Promise<void> {
    const { halfLoadedKey } = this.#redis;
    await this.#redis.ask<unknown>((client) =>
      isHalf ? client.set(halfLoadedKey, "1") : client.del(halfLoadedKey),
    );
  }

  async *entries(): AsyncGenerator<Entry> {
    const seen = new Set<string>();
    for await (const page of this.#pages()) {
      // Redis may return a key twice.
      const keys = page.filter((key) => !seen.has(key));
      for (const key of keys) seen.add(key);
      const { clock } = this.#options;
      const found = await this.#redis.ask((client) =>
        Promise.all(keys.map((key) => entryAt({ redis: this.#redis, client, clock }, key))),
      );
      yield* found.filter((entry) => entry !== null);
    }
  }

  async put(entries: readonly Entry[]): Promise<void> {
    const { clock } = this.#options;
    await this.#redis.ask((client) =>
      Promise.all(entries.map((entry) => putEntry({ redis: this.#redis, client, clock }, entry))),
    );
  }

  async clear(): Promise<void> {
    const { halfLoadedKey, schemaKey } = this.#redis;
    for await (const page of this.#pages()) {
      const keys = page.filter((key) => key !== halfLoadedKey && key !== schemaKey);
      if (keys.length > 0) await this.#redis.ask((client) => client.unlink(keys));
    }
  }

  async *#pages(): AsyncGenerator<string[]> {
    const options = { MATCH: `${this.#redis.prefix}:*`, COUNT: SCAN_COUNT };
    let page = { cursor: "0", keys: [""] };
    do {
      const { cursor } = page;
      page = await this.#redis.ask((client) => client.scan(cursor, options));
      yield page.keys;
    } while (page.cursor !== "0");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#redis.close();
  }
}

/** A connection of Redis, and what gives entries their keys and times. */
type Call = { redis: RedisConnection; client: RedisClientType; clock: Clock };

/** The entry under a key. Null if the key isn't an entry's, or the entry has expired. */
async function entryAt(call: Call, key: string): Promise<Entry | null> {
  const { redis, client, clock } = call;
  const name = key.slice(redis.prefix.length + 1);
  const [kind = "", ...rest] = name.split(":");
  const id = rest.join(":");
  if (kind === "task") return taskAt(call, key, id);
  if (kind === "series") {
    const [entries, leftMs] = await Promise.all([client.lRange(key, 0, -1), client.pTTL(key)]);
    return entries.length === 0 ? null : { kind, id, entries, expiresAt: clock.now() + leftMs };
  }
  if (kind !== "done" && !RECORD_KINDS.includes(kind)) return null;
  const stored = await client.get(key);
  if (stored === null) return null;
  if (kind === "done") return { kind, id, endedAt: Number(stored) };
  const { text, expiresAt } = fromEntryText(stored);
  return { kind: "record", id: name, text, expiresAt };
}

async function taskAt(call: Call, key: string, id: string): Promise<TaskEntry | null> {
  const { redis, client } = call;
  const { claim, nextDue = null, ...hash } = await client.hGetAll(key);
  // It has ended since its key was listed.
  if (Object.keys(hash).length === 0) return null;
  const task: Record<string, unknown> = { kind: "task", id, ...NOTHING_NEXT, ...hash, nextDueAt: nextDue };
  const due = await client.zScore(`${redis.prefix}:due:${hash["pool"]}`, id);
  if (due !== null) task["dueAt"] = Math.floor(due);
  for (const name of NUMBERS) if (typeof task[name] === "string") task[name] = Number(task[name]);
  task["dueAt"] ??= task["endedAt"];
  // A claim that was never released belongs to a process that died.
  if (claim !== undefined) task["deaths"] = Number(task["deaths"]) + 1;
  const { data } = TaskEntry.safeParse(task);
  if (data !== undefined) return data;
  // It may have ended between the two answers.
  if (hash["state"] === "waiting" && due === null && (await client.hGet(key, "state")) !== "waiting") {
    return taskAt(call, key, id);
  }
  throw new StateError(`The task ${id} in ${redis.shown} is damaged. Remove it, and run this again.`);
}

async function putEntry(call: Call, entry: Entry): Promise<void> {
  const { redis, client, clock } = call;
  const nowMs = clock.now();
  const key = `${redis.prefix}:${entry.kind === "record" ? entry.id : `${entry.kind}:${entry.id}`}`;
  /** The same expiry that the entry's own writers set. */
  const keep = (untilMs: number) => ({ expiration: { type: "PX" as const, value: untilMs - nowMs } });
  switch (entry.kind) {
    case "record": {
      const kept = entry.expiresAt === null ? {} : keep(entry.expiresAt + REMOVED_AFTER_MS);
      await client.set(key, toEntryText(entry), kept);
      return;
    }
    case "done":
      await client.set(key, String(entry.endedAt), keep(entry.endedAt + KEEP_DONE_MS + DAY_MS));
      return;
    case "series":
      await client.rPush(key, entry.entries);
      await client.pExpire(key, entry.expiresAt - nowMs);
      return;
    case "task":
      await putTask(call, entry);
  }
}

async function putTask({ redis: { prefix }, client }: Call, entry: TaskEntry): Promise<void> {
  const { kind: _, id, ...task } = entry;
  const { state, pool, dueAt, endedAt } = task;
  const fields = Object.entries(task).flatMap(([name, value]) =>
    value === null ? [] : [[name === "nextDueAt" ? "nextDue" : name, String(value)] as const],
  );
  await client.hSet(`${prefix}:task:${id}`, Object.fromEntries(fields));
  if (state === "dead") {
    await client.zAdd(`${prefix}:dead`, { score: endedAt ?? dueAt, value: id });
    return;
  }
  await client.zAdd(`${prefix}:due:${pool}`, { score: dueAt, value: id });
  await client.zAdd(`${prefix}:pools`, { score: dueAt, value: pool }, { comparison: "LT" });
}
