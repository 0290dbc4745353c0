import { type RedisClientType, createClient } from "@redis/client";
import type { Logger } from "../../machine/ports.ts";
import { RedisLink } from "./redis-link.ts";
import type { Address, RedisLocation } from "./redis-location.ts";
import { RedisSentinels } from "./redis-sentinels.ts";

const CONNECT_WITHIN_MS = 5_000;
/** A connection without traffic for this long counts as lost. Pings keep it busy. */
const SILENT_FOR_MS = 6_000;
const RECONNECT_AT_MOST_MS = 1_000;
/** How often Sentinels are asked. They take seconds to agree on a new primary. */
const LOOK_EVERY_MS = 1_000;

type LinkListeners = {
  onReady: (client: RedisClientType) => void;
  onError?: (thrown: unknown) => void;
};

/** All connections of one program to the server of a store, wherever that is. */
export class RedisLinks {
  readonly #location: RedisLocation;
  readonly #sentinels: RedisSentinels | null;
  readonly #logger: Logger;
  readonly #links = new Set<RedisLink>();
  #address: Address;
  #isStarted = false;
  #isClosed = false;
  #cancelLook: () => void = noop;

  private constructor(
    location: RedisLocation,
    at: { address: Address; sentinels: RedisSentinels | null },
    logger: Logger,
  ) {
    this.#location = location;
    this.#address = at.address;
    this.#sentinels = at.sentinels;
    this.#logger = logger;
  }

  /** Finds the server. Rejects with the reason if Sentinels have to know it and none answers. */
  static async find(location: RedisLocation, logger: Logger): Promise<RedisLinks> {
    const { at } = location;
    if ("host" in at) return new RedisLinks(location, { address: at, sentinels: null }, logger);
    const sentinels = new RedisSentinels(at, location);
    try {
      return new RedisLinks(location, { address: await sentinels.find(), sentinels }, logger);
    } catch (thrown) {
      sentinels.close();
      throw thrown;
    }
  }

  /** From now on, connections come back by themselves, and go where Sentinels name the primary. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#lookLater();
  }

  /** A connection that isn't established yet. */
  link({ onReady, onError = noop }: LinkListeners): RedisLink {
    const link = new RedisLink({ makeClient: () => this.#makeClient(), onReady, onError });
    this.#links.add(link);
    return link;
  }

  drop(link: RedisLink): void {
    this.#links.delete(link);
    link.close();
  }

  /** Looks for no other primary. Idempotent. */
  stay(): void {
    this.#isClosed = true;
    this.#cancelLook();
    this.#sentinels?.close();
  }

  /** Closes all connections. Idempotent. */
  close(): void {
    this.stay();
    for (const link of this.#links) this.drop(link);
  }

  #makeClient(): RedisClientType {
    return createClient({
      url: this.#location.urlAt(this.#address),
      // `CLIENT LIST` shows who uses the store.
      name: this.#location.prefix,
      // Commands fail at once while Redis is away, and their callers try again.
      disableOfflineQueue: true,
      pingInterval: SILENT_FOR_MS / 2,
      socket: {
        connectTimeout: CONNECT_WITHIN_MS,
        socketTimeout: SILENT_FOR_MS,
        reconnectStrategy: (attempts, cause) =>
          this.#isStarted ? Math.min(50 * 2 ** attempts, RECONNECT_AT_MOST_MS) : cause,
      },
    });
  }

  #lookLater(): void {
    const sentinels = this.#sentinels;
    if (sentinels === null || this.#isClosed) return;
    const look = () =>
      sentinels
        .find()
        .then((found) => this.#moveTo(found))
        // While none answers, it stays where it is.
        .catch(noop)
        .then(() => this.#lookLater());
    const timer = setTimeout(() => void look(), LOOK_EVERY_MS);
    this.#cancelLook = () => clearTimeout(timer);
  }

  #moveTo(address: Address): void {
    const { host, port } = this.#address;
    if (this.#isClosed || (host === address.host && port === address.port)) return;
    this.#address = address;
    const primary = `${address.host}:${address.port}`;
    this.#logger.warn({ store: this.#location.shown, primary }, "store: follows another primary");
    for (const link of this.#links) link.renew();
  }
}

function noop(): void {}
