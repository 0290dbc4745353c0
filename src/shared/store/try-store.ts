import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { messageOf } from "../errors.ts";
import type { Clock, StartFinding, Logger } from "../machine/ports.ts";
import { isRedisUrl, shownStoreUrl } from "./redis/redis-location.ts";
import { trySqliteDatabase } from "./sqlite/sqlite-database.ts";
import { StoreInUseError, StoreUnavailableError } from "./store-errors.ts";

const NAME = "Store";
/** As much as a busy minute writes. */
const PROBE_BYTES = 256 * 1024;

type Tried = StartFinding & {
  /** True if another process, which can only be Docs Agent, has the store open, or may have. */
  isInUse: boolean;
};

/**
 * Finds out if the store at `url` can be opened and written. Changes nothing in it. `kinds` are the
 * kinds of records that the program keeps there.
 */
export async function tryStore(
  url: string,
  deps: { clock: Clock; logger: Logger; kinds: readonly string[] },
): Promise<Tried> {
  const fine = { level: "ok", name: NAME, isInUse: false } as const;
  if (url === "memory://") {
    const found = "memory:// loses every request when the process ends. Use it for tests only.";
    return { ...fine, level: "warn", found };
  }
  try {
    if (isRedisUrl(url)) {
      const { tryRedis } = await import("./redis/try-redis.ts");
      const isInUse = await tryRedis(url, deps);
      return { ...fine, isInUse, found: `${shownStoreUrl(url)} can be written` };
    }
    const path = resolve(url.slice("sqlite://".length));
    await tryFolder(path);
    if (!existsSync(path)) return { ...fine, found: `${path} will be created` };
    await trySqliteDatabase(path, deps);
    return { ...fine, found: `${path} can be written` };
  } catch (thrown) {
    if (thrown instanceof StoreInUseError) {
      return { ...fine, isInUse: true, found: "in use by the running Docs Agent" };
    }
    return { ...fine, level: "FAULT", found: messageOf(thrown) };
  }
}

/** Writes beside the file, as SQLite will, in the nearest folder that exists. */
async function tryFolder(path: string): Promise<void> {
  let folder = dirname(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  let probe: string | undefined;
  try {
    probe = await mkdtemp(join(folder, ".docs-agent-check-"));
    await writeFile(join(probe, "probe"), Buffer.alloc(PROBE_BYTES), { flush: true });
  } catch (thrown) {
    throw new StoreUnavailableError(
      path,
      `nothing can be written to ${folder} (${messageOf(thrown)})`,
      "Give this user the right to write there, and free some space if the disk is full.",
      { cause: thrown },
    );
  } finally {
    if (probe !== undefined) await rm(probe, { recursive: true, force: true });
  }
}
