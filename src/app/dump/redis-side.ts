import type { RedisClientType } from "@redis/client";
import { messageOf } from "../../shared/errors.ts";
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

/** Opens a Redis. Rejects if it isn't ours to use; as a target, also if it may evict its data. */
export async function openRedisSide(
  options: Omit<OpenRedisStoreOptions<AppRecords>, "keepSetAsideMs" | "schemas">,
  isTarget: boolean,
): Promise<Side> {
  const { clock, logger, serverNow } = options;
  const redis = await RedisConnection.open(options.url, logger, {
    remedy: "Check that Redis runs and that the URL is right, and run this again.",
  });
  await checkRedis(redis, logger, { purpose: isTarget ? "load" : "dump", kinds: Object.keys(recordSchemas) });
  const { prefix, shown, halfLoadedKey, schemaKey } = redis;

  async function serverTime(): Promise<number> {
    if (serverNow !== undefined) return serverNow();
    const [seconds, micros] = await redis.ask((client) => client.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Number of other connections to this store: an app in another database may have its prefix. */
  async function connections(): Promise<number> {
    try {
      const { ownId, all } = await redis.ask(async (client) => ({
        ownId: await client.clientId(),
        all: await client.clientList(),
      }));
      const own = all.find(({ id }) => id === ownId);
      return all.filter(({ id, name, db }) => id !== ownId && name === prefix && db === own?.db).length;
    } catch (thrown) {
      if (!/unknown command|unknown subcommand|NOPERM|no permissions/i.test(messageOf(thrown))) throw thrown;
      logger.warn(
        { store: shown },
        "Redis doesn't let this program see who is connected. Make sure yourself that no replica is running",
      );
      return 0;
    }
  }

  async function* pages(): AsyncGenerator<string[]> {
    const options = { MATCH: `${prefix}:*`, COUNT: SCAN_COUNT };
    let page = { cursor: "0", keys: [""] };
    do {
      const { cursor } = page;
      page = await redis.ask((client) => client.scan(cursor, options));
      yield page.keys;
    } while (page.cursor !== "0");
  }

  /** The entry under a key. Null if the key isn't an entry's, or the entry has expired. */
  async function entryAt(client: RedisClientType, key: string): Promise<Entry | null> {
    const name = key.slice(prefix.length + 1);
    const [kind = "", ...rest] = name.split(":");
    const id = rest.join(":");
    if (kind === "task") return taskAt(client, key, id);
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

  async function taskAt(client: RedisClientType, key: string, id: string): Promise<TaskEntry> {
    const { claim, nextDue = null, ...hash } = await client.hGetAll(key);
    const task: Record<string, unknown> = { kind: "task", id, ...NOTHING_NEXT, ...hash, nextDueAt: nextDue };
    const due = await client.zScore(`${prefix}:due:${hash["pool"]}`, id);
    if (due !== null) task["dueAt"] = Math.floor(due);
    for (const name of NUMBERS) if (typeof task[name] === "string") task[name] = Number(task[name]);
    task["dueAt"] ??= task["endedAt"];
    // A claim that was never released belongs to a process that died.
    if (claim !== undefined) task["deaths"] = Number(task["deaths"]) + 1;
    const { data } = TaskEntry.safeParse(task);
    if (data !== undefined) return data;
    throw new StateError(`The task ${id} in ${shown} is damaged. Remove it, and run this again.`);
  }

  async function putEntry(client: RedisClientType, entry: Entry): Promise<void> {
    const nowMs = clock.now();
    const key = `${prefix}:${entry.kind === "record" ? entry.id : `${entry.kind}:${entry.id}`}`;
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
      case "task": {
        const { kind: _, id, ...task } = entry;
        const { state, pool, dueAt, endedAt } = task;
        const fields = Object.entries(task).flatMap(([name, value]) =>
          value === null ? [] : [[name === "nextDueAt" ? "nextDue" : name, String(value)] as const],
        );
        await client.hSet(key, Object.fromEntries(fields));
        if (state === "dead") await client.zAdd(`${prefix}:dead`, { score: endedAt ?? dueAt, value: id });
        else {
          await client.zAdd(`${prefix}:due:${pool}`, { score: dueAt, value: id });
          await client.zAdd(`${prefix}:pools`, { score: dueAt, value: pool }, { comparison: "LT" });
        }
      }
    }
  }

  return {
    name: shown,
    async assertUnused() {
      const apartMs = (await serverTime()) - clock.now();
      if (Math.abs(apartMs) > CLOCKS_APART_MS) {
        const apart = `${Math.round(Math.abs(apartMs) / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"}`;
        throw new StateError(
          `The clock of ${shown} is ${apart} this machine's. Set both right, and run this again.`,
        );
      }
      const others = await connections();
      if (others > 0) {
        throw new StateError(
          `An app is using ${shown} (${others} connections). Stop all replicas, and run this again. ` +
            "Redis notices within minutes that a machine has disappeared.",
        );
      }
    },
    async isHalfLoaded() {
      return (await redis.ask((client) => client.exists(halfLoadedKey))) > 0;
    },
    async markHalfLoaded(isHalf) {
      await redis.ask<unknown>((client) =>
        isHalf ? client.set(halfLoadedKey, "1") : client.del(halfLoadedKey),
      );
    },
    async *entries() {
      const seen = new Set<string>();
      for await (const page of pages()) {
        // Redis may return a key twice.
        const keys = page.filter((key) => !seen.has(key));
        for (const key of keys) seen.add(key);
        const found = await redis.ask((client) => Promise.all(keys.map((key) => entryAt(client, key))));
        yield* found.filter((entry) => entry !== null);
      }
    },
    async put(entries) {
      await redis.ask((client) => Promise.all(entries.map((entry) => putEntry(client, entry))));
    },
    async clear() {
      for await (const page of pages()) {
        const keys = page.filter((key) => key !== halfLoadedKey && key !== schemaKey);
        if (keys.length > 0) await redis.ask((client) => client.unlink(keys));
      }
    },
    [Symbol.asyncDispose]: () => redis.close(),
  };
}
