import { z } from "zod";
import type { DocsAgentError } from "../../errors.ts";
import { StoreHalfLoadedError, StoreUnavailableError } from "../store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";

/**
 * The newest schema that this version reads, and the one that it writes. The store keeps the newest
 * that was ever written there, and no replica that can't read it begins. So a schema takes two
 * releases: the first one reads it, and may run beside the release before; the second one writes
 * it, and may run beside the first.
 */
const READS = 1;
const WRITES = 1;

/** What is under our prefix besides records: the next part of each key, by its type in Redis. */
const NAMES = {
  string: ["set-aside", "done", "slot", "alone", "probe", "schema", "half-loaded", "mark"],
  hash: ["task"],
  list: ["series"],
  zset: ["due", "pools", "dead", "doubtful"],
};

/** The type in Redis of everything under our prefix, by the next part of its key. */
type Types = Readonly<Record<string, string>>;

function typesWith(kinds: readonly string[]): Types {
  const all = Object.entries({ ...NAMES, string: [...NAMES.string, ...kinds] });
  return Object.fromEntries(all.flatMap(([type, names]) => names.map((name) => [name, type])));
}

/** What a store is opened for. A check and a dump claim nothing. */
export type Purpose = "app" | "check" | "load" | "dump";

const SCAN_COUNT = 1_000;
const ELSEWHERE = "Set STORE_URL to another prefix with ?prefix=name at its end, or to another database";

/**
 * Returns a key of another type than ours, or nothing; the schema, or nothing; and 1 while a dump
 * is being loaded.
 */
const LOOK = `
  local P = KEYS[1]
  for name, kind in pairs(cjson.decode(ARGV[1])) do
    local found = redis.call('TYPE', P .. ':' .. name).ok
    if found ~= 'none' and found ~= kind then return {P .. ':' .. name, '', 0} end
  end
  local schema = redis.call('GET', P .. ':schema') or ''
  if not string.match(schema, '^%d*$') then return {P .. ':schema', '', 0} end
  return {'', schema, redis.call('EXISTS', P .. ':half-loaded')}
`;
const Looked = z.tuple([z.string(), z.string(), z.int()]);

/** schema */
const CLAIM = `
  local key, writes = KEYS[1] .. ':schema', tonumber(ARGV[1])
  if tonumber(redis.call('GET', key) or 0) < writes then redis.call('SET', key, writes) end
`;

/**
 * Marks what is under our prefix as ours, if the purpose is to write there. Resolves to the reason
 * why it can't be used, or to null: it is another program's, a newer version's, or, for an app, a
 * dump is being loaded. `kinds` are the kinds of records in the store.
 */
export async function admitStore(
  redis: RedisConnection,
  { purpose, kinds }: { purpose: Purpose; kinds: readonly string[] },
): Promise<DocsAgentError | null> {
  const types = typesWith(kinds);
  const [foreign, schema, isHalfLoaded] = Looked.parse(await redis.run(LOOK, [JSON.stringify(types)]));
  const other = foreign || (schema === "" ? await findOther(redis, types) : "");
  if (other !== "") {
    return new StoreUnavailableError(
      redis.shown,
      `its key ${other.slice(0, 100)} is another program's or an earlier build's`,
      `${ELSEWHERE}.`,
    );
  }
  if (Number(schema) > READS) {
    return new StoreUnavailableError(
      redis.shown,
      `it has schema version ${schema}, and this version of docs-agent reads up to ${READS}`,
      `A newer version wrote it. Run that version. To start empty: ${ELSEWHERE}.`,
    );
  }
  const isForApp = purpose === "app" || purpose === "check";
  if (isForApp && isHalfLoaded === 1) return new StoreHalfLoadedError(redis.shown);
  if (purpose === "app" || purpose === "load") await redis.run(CLAIM, [String(WRITES)]);
  return null;
}

/**
 * Looks at each key of a store that no version with schemas has opened. Returns one that isn't
 * ours, or an empty text.
 */
async function findOther(redis: RedisConnection, ours: Types): Promise<string> {
  const { prefix } = redis;
  const options = { MATCH: `${prefix}:*`, COUNT: SCAN_COUNT };
  let cursor = "0";
  do {
    const from = cursor;
    const page = await redis.ask((client) => client.scan(from, options));
    ({ cursor } = page);
    const types = await redis.ask((client) => Promise.all(page.keys.map((key) => client.type(key))));
    for (const [n, key] of page.keys.entries()) {
      const [kind = ""] = key.slice(prefix.length + 1).split(":");
      // A key that has expired meanwhile has no type.
      if (types[n] !== "none" && types[n] !== ours[kind]) return key;
    }
  } while (cursor !== "0");
  return "";
}
