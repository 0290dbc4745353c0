import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { createClient, type RedisClientType } from "@redis/client";
import { startRedisServer } from "../test/support/redis-server.ts";
import { channelId, TEAM_ID } from "../world/light/identity.ts";

/**
 * Redis's time for writing its append-only file to the disk: before it answers, or once a second.
 */
export type Sync = "always" | "everysec";

/** Redis's work since its start, and the data that it holds. */
export type RedisUse = {
  /** Includes commands inside scripts. */
  commands: number;
  scripts: number;
  /** Bytes to and from its clients. */
  netBytes: number;
  aofBytes: number;
  memoryBytes: number;
};

const PREFIX = "{docs-agent}";
const WRITTEN_AT_ONCE = 1000;
const KEPT_MS = 8 * 24 * 60 * 60_000;

type Options = Awaited<ReturnType<typeof startRedisServer>> & { client: RedisClientType; dir: string };

/** True if a Redis can be started here. */
export function hasRedis(): boolean {
  return spawnSync("redis-server", ["--version"]).status === 0;
}

/** A Redis on a free port, with an append-only file. */
export class BenchRedis implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly #own: Options;
  readonly #kill = () => process.kill(this.pid, "SIGKILL");

  private constructor(own: Options) {
    this.url = own.url;
    this.pid = own.pid;
    this.#own = own;
    process.on("exit", this.#kill);
  }

  /** Starts it. Its file is in a new folder in `parent`. */
  static async start(parent: string, appendfsync: Sync = "always"): Promise<BenchRedis> {
    const dir = await mkdtemp(join(parent, "redis-"));
    const server = await startRedisServer({ appendonly: "yes", appendfsync, dir });
    const client: RedisClientType = createClient({ url: server.url });
    client.on("error", () => {});
    await client.connect();
    return new BenchRedis({ ...server, client, dir });
  }

  async use(): Promise<RedisUse> {
    const { client, dir } = this.#own;
    const info = await client.info("everything");
    const number = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
    const callsOf = (name: string) =>
      Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, "m").exec(info)?.[1] ?? 0);
    const files = join(dir, "appendonlydir");
    return {
      commands: number("total_commands_processed"),
      scripts: callsOf("eval") + callsOf("evalsha"),
      netBytes: number("total_net_input_bytes") + number("total_net_output_bytes"),
      aofBytes: readdirSync(files).reduce((sum, name) => sum + statSync(join(files, name)).size, 0),
      memoryBytes: number("used_memory"),
    };
  }

  /** Counts the keys that begin with the app's prefix and then `start`. */
  async countKeys(start: string): Promise<number> {
    let count = 0;
    const asked = { MATCH: `${PREFIX}:${start}*`, COUNT: 10_000 };
    for await (const keys of this.#own.client.scanIterator(asked)) count += keys.length;
    return count;
  }

  /**
   * Writes `count` ids of done tasks, as the queue does for the answer to a mention (see
   * `task-script.ts`).
   */
  async writeDoneIds(count: number): Promise<void> {
    for (let first = 0; first < count; first += WRITTEN_AT_ONCE) {
      const batch = this.#own.client.multi();
      for (let n = first; n < Math.min(count, first + WRITTEN_AT_ONCE); n += 1) {
        const cause = `mention:${TEAM_ID}:${channelId(n % 100)}:1767603600.${String(n).padStart(6, "0")}`;
        batch.set(`${PREFIX}:done:reply:${cause}`, String(Date.now()), { PX: KEPT_MS });
      }
      await batch.execAsPipeline();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#kill);
    this.#own.client.destroy();
    await this.#own[Symbol.asyncDispose]();
  }
}
