import { hash } from "node:crypto";
import KeyvRedis from "@keyv/redis";
import {
  ClientClosedError,
  ClientOfflineError,
  DisconnectsClientError,
  ErrorReply,
  ReconnectStrategyError,
  type RedisClientType,
} from "@redis/client";
import type { Logger } from "../../machine/ports.ts";
import { codeOf, DocsAgentError, messageOf } from "../../errors.ts";
import { StoreAnswerLostError, StoreUnavailableError } from "../store-errors.ts";
import { redisAdvice } from "./redis-advice.ts";
import type { RedisLink } from "./redis-link.ts";
import { RedisLinks } from "./redis-links.ts";
import { type RedisLocation, readRedisUrl } from "./redis-location.ts";

/**
 * Redis normally answers in milliseconds. Slack waits 3 s for an answer, and people want to know if
 * a request wasn't stored.
 */
const ANSWER_WITHIN_MS = 1_500;
const CLOSE_WITHIN_MS = 500;
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
  readonly #main: RedisLink;
  readonly #links: RedisLinks;
  readonly #readyListeners = new Set<() => void>();
  /** Reads and writes entries by their full keys. */
  readonly keyv: KeyvRedis<string>;
  readonly prefix: string;
  /** How many standbys have to confirm what is written. */
  readonly standbys: number;
  readonly shown: string;
  readonly #options: ConnectionOptions;
  /** Why it has been away since it was last ready, the latest reason last. */
  readonly #awayReasons = new Set<string>();
  readonly #logger: Logger;
  /** The reads of this turn of the event loop. */
  #reading: { keys: string[]; texts: Promise<(string | undefined)[]> } | null = null;
  #wasReady = false;

  private constructor(
    { prefix, standbys, shown }: RedisLocation,
    links: RedisLinks,
    logger: Logger,
    options: ConnectionOptions,
  ) {
    this.prefix = prefix;
    this.standbys = standbys;
    this.shown = shown;
    this.#links = links;
    this.#logger = logger;
    this.#options = options;
    this.#main = links.link({
      onReady: (client) => {
        if (this.#awayReasons.size > 0) logger.info({ store: shown }, "store: Redis is back");
        this.#awayReasons.clear();
        this.#wasReady = true;
        links.start();
        if (this.keyv.client !== client) this.keyv.client = client;
        for (const listener of this.#readyListeners) listener();
      },
      onError: (thrown) => this.#noteAway(messageOf(thrown)),
    });
    this.keyv = new KeyvRedis<string>(this.client, { throwOnErrors: true, throwOnConnectError: true });
    // Its errors are thrown as well.
    this.keyv.on("error", noop);
  }

  /** The current client of the main connection. It is replaced when the connection is. */
  get client(): RedisClientType {
    return this.#main.client;
  }

  /**
   * A connection of its own to the same server, which isn't established yet. The main one reports
   * that Redis is away.
   */
  link(onReady: (client: RedisClientType) => void): RedisLink {
    return this.#links.link({ onReady });
  }

  /** Calls `listener` when the main connection is ready again. Returns a function that ends it. */
  onReady(listener: () => void): () => void {
    this.#readyListeners.add(listener);
    return () => this.#readyListeners.delete(listener);
  }

  /**
   * Connects to the server, or to the primary that Sentinels name, and follows it from then on.
   * Rejects with a `StoreUnavailableError` if there is no Redis or no Sentinel answers, and with a
   * `TypeError` for a malformed URL.
   */
  static async open(url: string, logger: Logger, options: ConnectionOptions = {}): Promise<RedisConnection> {
    const location = readRedisUrl(url);
    if (location === null) throw new TypeError("STORE_URL must be redis://host:6379");
    const links = await RedisLinks.find(location, logger).catch((thrown: unknown) => {
      const remedy = options.remedy ?? START_REMEDY;
      throw new StoreUnavailableError(location.shown, messageOf(thrown), remedy, { cause: thrown });
    });
    const connection = new RedisConnection(location, links, logger, options);
    try {
      await connection.#main.connect();
    } catch (thrown) {
      links.close();
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
  ask<T>(command: (client: RedisClientType) => Promise<T>, withinMs = ANSWER_WITHIN_MS): Promise<T> {
    return this.askOn(this.#main, command, withinMs);
  }

  /** Like {@link ask}, on a connection of {@link link}. */
  async askOn<T>(
    link: RedisLink,
    command: (client: RedisClientType) => Promise<T>,
    withinMs = ANSWER_WITHIN_MS,
  ): Promise<T> {
    if (!link.client.isReady) throw this.#toStoreErrorOn(link, new ClientOfflineError());
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // Reads what has arrived first, for example after a pause of this process.
        setImmediate(() => {
          reject(new Error(`no answer within ${withinMs / 1000} s`));
          if (!isOver) this.#renew(link, `no answer within ${withinMs / 1000} s`);
        });
      }, withinMs);
    });
    const answer = command(link.client);
    try {
      return await Promise.race([answer, late]);
    } catch (thrown) {
      throw this.#toStoreErrorOn(link, thrown);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  toStoreError(thrown: unknown): DocsAgentError {
    return this.#toStoreErrorOn(this.#main, thrown);
  }

  #toStoreErrorOn(link: RedisLink, thrown: unknown): DocsAgentError {
    if (thrown instanceof DocsAgentError) return thrown;
    // After a failover, the address leads elsewhere: a replica refuses to write.
    if (messageOf(thrown).startsWith("READONLY")) this.#renew(link, messageOf(thrown));
    const wasRefused = REFUSALS.some((refusal) => thrown instanceof refusal);
    const StoreError = wasRefused ? StoreUnavailableError : StoreAnswerLostError;
    // The client only says that it is offline or has disconnected.
    const isAway = thrown instanceof ClientOfflineError || thrown instanceof DisconnectsClientError;
    const reason = (isAway ? [...this.#awayReasons].at(-1) : undefined) ?? messageOf(thrown);
    const cause = thrown instanceof ReconnectStrategyError ? thrown.originalError : thrown;
    const advice = redisAdvice(reason, codeOf(cause), this.shown);
    const remedy = this.#options.remedy ?? (this.#wasReady ? REMEDY : (advice ?? START_REMEDY));
    return new StoreError(this.shown, reason, remedy, { cause: thrown });
  }

  /** Replaces a connection. Unanswered commands are lost. */
  #renew(link: RedisLink, reason: string): void {
    if (!link.client.isReady) return;
    if (link === this.#main) this.#noteAway(reason);
    link.renew();
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
    let subscribed: RedisClientType | null = null;
    const link = this.link((client) => {
      heard("");
      // A client that reconnects subscribes again by itself.
      if (subscribed === client) return;
      subscribed = client;
      client.subscribe(channel, heard).catch((thrown: unknown) => {
        if (subscribed === client) subscribed = null;
        if (!(thrown instanceof ErrorReply)) return;
        this.#logger.warn(
          { store: this.shown, error: thrown.message },
          "store: Redis lets this app hear no messages; tasks may begin two seconds late",
        );
      });
    });
    link.connect().catch(noop);
    return () => this.#links.drop(link);
  }

  /** Waits briefly for unanswered commands, then closes. Idempotent. */
  async close(): Promise<void> {
    // A ping waits for all earlier answers, because Redis answers in order. The client's own close
    // would never end if the connection broke meanwhile.
    this.#links.stay();
    if (this.client.isReady) await this.ask((client) => client.ping(), CLOSE_WITHIN_MS).catch(noop);
    this.#links.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function noop(): void {}
