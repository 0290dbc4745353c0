import { createHash } from "node:crypto";
import { ClientClosedError, ClientOfflineError, ErrorReply, createClient } from "@redis/client";
import type { RedisClientType } from "@redis/client";
import type { Logger } from "../../core/logger.ts";
import { DocsAgentError, messageOf } from "../../errors.ts";
import { StoreAnswerLostError, StoreUnavailableError } from "../store-errors.ts";
import { readRedisUrl } from "./redis-location.ts";

const CONNECT_WITHIN_MS = 5_000;
/** A Redis that is there answers in milliseconds. Slack waits 3 s for an answer, and a person wants to know that a request was not stored. */
const ANSWER_WITHIN_MS = 1_500;
const CLOSE_WITHIN_MS = 500;
/** Without traffic for so long a connection counts as lost; pings keep it busy. Longer than BullMQ's commands block (10 s). */
const SILENT_FOR_MS = 15_000;
const RECONNECT_AT_MOST_MS = 1_000;
const START_REMEDY = "Check that Redis runs and that STORE_URL is right.";
const REMEDY = `${START_REMEDY} Work goes on by itself once it answers.`;

/** What was asked was not sent, or Redis said no. */
const REFUSALS = [ClientClosedError, ClientOfflineError, ErrorReply];

/** Whether a Redis refused to write because it is a replica of another one, as after a failover. */
export function isReadOnly(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.startsWith("READONLY");
}

/** A connection to Redis that comes back by itself, and what all keys begin with. */
export class RedisConnection implements AsyncDisposable {
  readonly client: RedisClientType;
  readonly prefix: string;
  readonly shown: string;
  readonly #digests = new Map<string, string>();
  #remedy: string;
  /** Why it has been away since it was there last; the latest comes last. */
  readonly #awayReasons = new Set<string>();
  /** Something that was asked is late, and nothing has come since. */
  #isSilent = false;

  private constructor(
    client: RedisClientType,
    { prefix, shown, remedy }: { prefix: string; shown: string; remedy: string },
  ) {
    this.client = client;
    this.prefix = prefix;
    this.shown = shown;
    this.#remedy = remedy;
  }

  /**
   * Rejects with a `StoreUnavailableError` when there is no Redis, and with a `TypeError` for a URL of another form. `remedy`: what to do then,
   * or when Redis is away later.
   */
  static async open(url: string, logger: Logger, remedy?: string): Promise<RedisConnection> {
    const location = readRedisUrl(url);
    if (location === null) throw new TypeError("STORE_URL must be redis://host:6379");
    let wasReady = false;
    const client: RedisClientType = createClient({
      url: location.url,
      // BullMQ's connections have names that begin like this, too: `CLIENT LIST` shows who uses the store.
      name: location.prefix,
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
    const connection = new RedisConnection(client, { ...location, remedy: remedy ?? START_REMEDY });
    const reasons = connection.#awayReasons;
    client.on("error", (thrown: unknown) => {
      const error = messageOf(thrown);
      // Each of them once: that it refuses the password comes after that it was away.
      if (wasReady && !reasons.has(error)) {
        logger.error({ store: location.shown, error }, "store: Redis is away; trying again");
      }
      reasons.delete(error);
      reasons.add(error);
    });
    client.on("ready", () => {
      if (reasons.size > 0) logger.info({ store: location.shown }, "store: Redis is back");
      reasons.clear();
      wasReady = true;
    });
    try {
      await client.connect();
    } catch (thrown) {
      throw connection.toStoreError(thrown);
    }
    connection.#remedy = remedy ?? REMEDY;
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

  /**
   * Asks Redis; rejects with a `StoreAnswerLostError` when no answer comes in time. From then on, until Redis says anything, nothing is sent:
   * it rejects with a `StoreUnavailableError`, as when Redis refuses or is not there.
   */
  async ask<T>(command: (client: RedisClientType) => Promise<T>, withinMs = ANSWER_WITHIN_MS): Promise<T> {
    const noAnswer = `no answer within ${withinMs / 1000} s`;
    if (this.#isSilent) throw new StoreUnavailableError(this.shown, noAnswer, this.#remedy);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#isSilent = true;
        reject(new Error(noAnswer));
      }, withinMs);
    });
    const answer = command(this.client);
    // Also one that comes late, and the end of the connection.
    const hear = () => (this.#isSilent = false);
    answer.then(hear, hear);
    try {
      return await Promise.race([answer, late]);
    } catch (thrown) {
      throw this.toStoreError(thrown);
    } finally {
      clearTimeout(timer);
    }
  }

  toStoreError(thrown: unknown): DocsAgentError {
    if (thrown instanceof DocsAgentError) return thrown;
    // After a failover, the address leads elsewhere: the new connection does, when Redis has closed this one.
    if (isReadOnly(thrown)) this.client.sendCommand(["QUIT"]).catch(() => {});
    const wasRefused = REFUSALS.some((refusal) => thrown instanceof refusal);
    const StoreError = wasRefused ? StoreUnavailableError : StoreAnswerLostError;
    // The client says only that it is offline.
    const reason = thrown instanceof ClientOfflineError ? [...this.#awayReasons].at(-1) : undefined;
    return new StoreError(this.shown, reason ?? messageOf(thrown), this.#remedy, { cause: thrown });
  }

  /** Waits for what was asked, a moment. Idempotent. */
  async close(): Promise<void> {
    // Redis answers in order. The client's own close would never end if the connection breaks meanwhile.
    if (this.client.isReady) await this.ask((client) => client.ping(), CLOSE_WITHIN_MS).catch(noop);
    if (this.client.isOpen) this.client.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function noop(): void {}
