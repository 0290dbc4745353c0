import { createHash } from "node:crypto";
import { createClient } from "@redis/client";
import type { RedisClientType } from "@redis/client";
import type { Logger } from "../../core/logger.ts";
import { DocsAgentError, messageOf } from "../../errors.ts";
import { StoreUnavailableError } from "../store-errors.ts";
import { readRedisUrl } from "./redis-location.ts";

const CONNECT_WITHIN_MS = 5_000;
/** A Redis that is there answers in milliseconds. Slack waits 3 s for an answer, and a person wants to know that a request was not stored. */
const ANSWER_WITHIN_MS = 1_500;
/** Without traffic for so long a connection counts as lost; pings keep it busy. Longer than BullMQ's commands block (10 s). */
const SILENT_FOR_MS = 15_000;
const RECONNECT_AT_MOST_MS = 1_000;
const REMEDY = "Check that Redis runs and that STORE_URL is right. Work goes on by itself once it answers.";

/** A connection to Redis that comes back by itself, and what all keys begin with. */
export class RedisConnection implements AsyncDisposable {
  readonly client: RedisClientType;
  readonly prefix: string;
  readonly shown: string;
  readonly #digests = new Map<string, string>();

  private constructor(client: RedisClientType, { prefix, shown }: { prefix: string; shown: string }) {
    this.client = client;
    this.prefix = prefix;
    this.shown = shown;
  }

  /** Rejects with a `StoreUnavailableError` when there is no Redis, and with a `TypeError` for a URL of another form. */
  static async open(url: string, logger: Logger): Promise<RedisConnection> {
    const location = readRedisUrl(url);
    if (location === null) throw new TypeError("STORE_URL must be redis://host:6379");
    let wasReady = false;
    const client: RedisClientType = createClient({
      url: location.url,
      // What is asked while Redis is away fails at once, and is tried again by who asked.
      disableOfflineQueue: true,
      pingInterval: SILENT_FOR_MS / 3,
      socket: {
        connectTimeout: CONNECT_WITHIN_MS,
        socketTimeout: SILENT_FOR_MS,
        reconnectStrategy: (attempts, cause) =>
          wasReady ? Math.min(50 * 2 ** attempts, RECONNECT_AT_MOST_MS) : cause,
      },
    });
    let isAway = false;
    client.on("error", (thrown: unknown) => {
      if (!isAway && wasReady) {
        logger.error(
          { store: location.shown, error: messageOf(thrown) },
          "store: Redis is away; trying again",
        );
      }
      isAway = true;
    });
    client.on("ready", () => {
      if (isAway) logger.info({ store: location.shown }, "store: Redis is back");
      isAway = false;
      wasReady = true;
    });
    const connection = new RedisConnection(client, location);
    try {
      await client.connect();
    } catch (thrown) {
      throw connection.toStoreError(thrown);
    }
    return connection;
  }

  /**
   * Runs a script on the prefix as its one key. Rejects with a `StoreUnavailableError` when no answer comes in time; the script may have
   * run then.
   */
  async run(script: string, args: readonly string[]): Promise<unknown> {
    return this.ask(async (client) => {
      const options = { keys: [this.prefix], arguments: [...args] };
      try {
        return await client.evalSha(this.#digestOf(script), options);
      } catch (thrown) {
        // Redis forgets scripts when it restarts.
        if (!messageOf(thrown).startsWith("NOSCRIPT")) throw thrown;
        return await client.eval(script, options);
      }
    });
  }

  #digestOf(script: string): string {
    let digest = this.#digests.get(script);
    if (digest === undefined) {
      digest = createHash("sha1").update(script).digest("hex");
      this.#digests.set(script, digest);
    }
    return digest;
  }

  /** Asks Redis; rejects with a `StoreUnavailableError` when it fails, or does not answer in time. */
  async ask<T>(command: (client: RedisClientType) => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`)),
        ANSWER_WITHIN_MS,
      );
    });
    try {
      return await Promise.race([command(this.client), late]);
    } catch (thrown) {
      throw this.toStoreError(thrown);
    } finally {
      clearTimeout(timer);
    }
  }

  toStoreError(thrown: unknown): DocsAgentError {
    if (thrown instanceof DocsAgentError) return thrown;
    return new StoreUnavailableError(this.shown, messageOf(thrown), REMEDY, { cause: thrown });
  }

  /** Waits for what was asked, a moment. Idempotent. */
  async close(): Promise<void> {
    if (!this.client.isOpen) return;
    if (this.client.isReady) await this.client.close();
    else this.client.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
