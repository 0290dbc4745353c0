import { hash } from "node:crypto";
import KeyvRedis from "@keyv/redis";
import {
  ClientClosedError,
  ClientOfflineError,
  DisconnectsClientError,
  ErrorReply,
  type RedisClientType,
  createClient,
} from "@redis/client";
import type { Logger } from "../../machine/ports.ts";
import { codeOf, DocsAgentError, messageOf } from "../../errors.ts";
import { StoreAnswerLostError, StoreUnavailableError } from "../store-errors.ts";
import { redisAdvice } from "./redis-advice.ts";
import { type RedisLocation, readRedisUrl } from "./redis-location.ts";

const CONNECT_WITHIN_MS = 5_000;
/**
 * Redis normally answers in milliseconds. Slack waits 3 s for an answer, and people want to know if
 * a request wasn't stored.
 */
const ANSWER_WITHIN_MS = 1_500;
const CLOSE_WITHIN_MS = 500;
/** A connection without traffic for this long counts as lost. Pings keep it busy. */
const SILENT_FOR_MS = 6_000;
const RECONNECT_AT_MOST_MS = 1_000;
const START_REMEDY = "Check that Redis runs and that STORE_URL is right.";
const REMEDY = `${START_REMEDY} Work goes on by itself once it answers.`;

/** Errors after which the command certainly had no effect: it wasn't sent, or Redis refused it. */
const REFUSALS = [ClientClosedError, ClientOfflineError, ErrorReply];

type ConnectionOptions = {
  /** What to do if Redis is away. @default what the app's operator can do */
  remedy?: string;
  /** Redis's time in tests, epoch milliseconds. */
  serverNow?: (() => number) | undefined;
};

/** A connection to Redis that reconnects by itself, and the prefix of all keys. */
export class RedisConnection implements AsyncDisposable {
  readonly client: RedisClientType;
  /** Reads and writes entries by their full keys. */
  readonly keyv: KeyvRedis<string>;
  readonly prefix: string;
  readonly shown: string;
  readonly #options: ConnectionOptions;
  /** Why it has been away since it was last ready, the latest reason last. */
  readonly #awayReasons = new Set<string>();
  readonly #logger: Logger;
  /** The reads of this turn of the event loop. */
  #reading: { keys: string[]; texts: Promise<(string | undefined)[]> } | null = null;
  #wasReady = false;

  private constructor({ url, prefix, shown }: RedisLocation, logger: Logger, options: ConnectionOptions) {
    this.prefix = prefix;
    this.shown = shown;
    this.#logger = logger;
    this.#options = options;
    this.client = createClient({
      url,
      // `CLIENT LIST` shows who uses the store.
      name: prefix,
      // Commands fail at once while Redis is away, and their callers try again.
      disableOfflineQueue: true,
      pingInterval: SILENT_FOR_MS / 2,
      socket: {
        connectTimeout: CONNECT_WITHIN_MS,
        socketTimeout: SILENT_FOR_MS,
        reconnectStrategy: (attempts, cause) =>
          this.#wasReady ? Math.min(50 * 2 ** attempts, RECONNECT_AT_MOST_MS) : cause,
      },
    });
    this.client.on("error", (thrown: unknown) => this.#noteAway(messageOf(thrown)));
    this.client.on("ready", () => {
      if (this.#awayReasons.size > 0) logger.info({ store: shown }, "store: Redis is back");
      this.#awayReasons.clear();
      this.#wasReady = true;
    });
    this.keyv = new KeyvRedis<string>(this.client, { throwOnErrors: true, throwOnConnectError: true });
    // Its errors are thrown as well.
    this.keyv.on("error", noop);
  }

  /**
   * Rejects with a `StoreUnavailableError` if there is no Redis, and with a `TypeError` for a
   * malformed URL.
   */
  static async open(url: string, logger: Logger, options: ConnectionOptions = {}): Promise<RedisConnection> {
    const location = readRedisUrl(url);
    if (location === null) throw new TypeError("STORE_URL must be redis://host:6379");
    const connection = new RedisConnection(location, logger, options);
    try {
      await connection.client.connect();
    } catch (thrown) {
      throw connection.toStoreError(thrown);
    }
    return connection;
  }

  /**
   * Reads an entry. All reads of one turn of the event loop are one command, because many polls
   * begin together.
   */
  async read(key: string): Promise<string | undefined> {
    this.#reading ??= this.#readTogether();
    const { keys, texts } = this.#reading;
    const n = keys.push(key) - 1;
    return (await texts)[n];
  }

  #readTogether() {
    const keys: string[] = [];
    const texts = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      this.#reading = null;
      return this.ask(() => this.keyv.getMany<string>(keys));
    });
    return { keys, texts };
  }

  /** The first argument of scripts that need the time: empty, or the time in a test. */
  get now(): string {
    return String(this.#options.serverNow?.() ?? "");
  }

  /**
   * Runs a script with the prefix as its only key. Rejects with a `StoreUnavailableError` if no
   * answer comes in time, after which the script may still have run.
   */
  async run(script: string, args: readonly string[]): Promise<unknown> {
    return this.ask(async (client) => {
      const options = { keys: [this.prefix], arguments: [...args] };
      try {
        return await client.evalSha(hash("sha1", script), options);
      } catch (thrown) {
        // Redis forgets scripts when it restarts.
        if (!messageOf(thrown).startsWith("NOSCRIPT")) throw thrown;
        return await client.eval(script, options);
      }
    });
  }

  /** The key that exists while the load of a dump is unfinished. */
  get halfLoadedKey(): string {
    return `${this.prefix}:half-loaded`;
  }

  /** The key that says which version's schema the store has. */
  get schemaKey(): string {
    return `${this.prefix}:schema`;
  }

  /**
   * Sends a command. Rejects with a `StoreAnswerLostError` if no answer comes in time. As the
   * connection may then be dead, it is replaced. Rejects with a `StoreUnavailableError` until the
   * new one is ready, or if Redis refuses.
   */
  async ask<T>(command: (client: RedisClientType) => Promise<T>, withinMs = ANSWER_WITHIN_MS): Promise<T> {
    if (!this.client.isReady) throw this.toStoreError(new ClientOfflineError());
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // Reads what has arrived first, for example after a pause of this process.
        setImmediate(() => {
          reject(new Error(`no answer within ${withinMs / 1000} s`));
          if (!isOver) this.#reconnect(`no answer within ${withinMs / 1000} s`);
        });
      }, withinMs);
    });
    const answer = command(this.client);
    try {
      return await Promise.race([answer, late]);
    } catch (thrown) {
      throw this.toStoreError(thrown);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  toStoreError(thrown: unknown): DocsAgentError {
    if (thrown instanceof DocsAgentError) return thrown;
    // After a failover, the address leads elsewhere: a replica refuses to write.
    if (messageOf(thrown).startsWith("READONLY")) this.#reconnect(messageOf(thrown));
    const wasRefused = REFUSALS.some((refusal) => thrown instanceof refusal);
    const StoreError = wasRefused ? StoreUnavailableError : StoreAnswerLostError;
    // The client only says that it is offline or has disconnected.
    const isAway = thrown instanceof ClientOfflineError || thrown instanceof DisconnectsClientError;
    const reason = (isAway ? [...this.#awayReasons].at(-1) : undefined) ?? messageOf(thrown);
    const advice = redisAdvice(reason, codeOf(thrown), this.shown);
    const remedy = this.#options.remedy ?? (this.#wasReady ? REMEDY : (advice ?? START_REMEDY));
    return new StoreError(this.shown, reason, remedy, { cause: thrown });
  }

  /** Replaces this connection. Unanswered commands are lost. */
  #reconnect(reason: string): void {
    if (!this.client.isReady) return;
    this.#noteAway(reason);
    this.client.destroy();
    // It tries until it succeeds or is closed.
    this.client.connect().catch(noop);
  }

  /** Logs each reason once. For example, Redis may first be away and then refuse the password. */
  #noteAway(reason: string): void {
    if (this.#wasReady && !this.#awayReasons.has(reason)) {
      this.#logger.error({ store: this.shown, error: reason }, "store: Redis is away; trying again");
    }
    this.#awayReasons.delete(reason);
    this.#awayReasons.add(reason);
  }

  /**
   * Calls `heard` with each message of a channel, and each time its own connection is established.
   * Messages may be lost. Returns a function that ends it.
   */
  listen(channel: string, heard: (message: string) => void): () => void {
    const client = this.client.duplicate();
    let isSubscribed = false;
    // The other connection reports that Redis is away.
    client.on("error", noop);
    client.on("ready", () => {
      heard("");
      if (isSubscribed) return;
      client.subscribe(channel, heard).then(
        () => (isSubscribed = true),
        (thrown: unknown) => {
          if (!(thrown instanceof ErrorReply)) return;
          this.#logger.warn(
            { store: this.shown, error: thrown.message },
            "store: Redis lets this app hear no messages; tasks may begin two seconds late",
          );
        },
      );
    });
    client.connect().catch(noop);
    return () => {
      if (client.isOpen) client.destroy();
    };
  }

  /** Waits briefly for unanswered commands, then closes. Idempotent. */
  async close(): Promise<void> {
    // A ping waits for all earlier answers, because Redis answers in order. The client's own close
    // would never end if the connection broke meanwhile.
    if (this.client.isReady) await this.ask((client) => client.ping(), CLOSE_WITHIN_MS).catch(noop);
    if (this.client.isOpen) this.client.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function noop(): void {}
