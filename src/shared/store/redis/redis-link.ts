import type { RedisClientType } from "@redis/client";

type LinkOptions = {
  /** Makes a client that isn't connected yet, of the server that the store is on now. */
  makeClient: () => RedisClientType;
  onReady: (client: RedisClientType) => void;
  onError: (thrown: unknown) => void;
};

/** One client of the store's server. It reconnects by itself, and can be replaced by a new one. */
export class RedisLink {
  readonly #options: LinkOptions;
  readonly #waiters = new Set<() => void>();
  /** Clients whose attempt to connect is under way. To close one of them would leave its socket. */
  readonly #trying = new Set<RedisClientType>();
  /** Those of them that are closed as soon as it isn't. */
  readonly #late = new Set<RedisClientType>();
  #client: RedisClientType;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#client = this.#make();
  }

  /** The current client. It may be offline. */
  get client(): RedisClientType {
    return this.#client;
  }

  /** Resolves once it is ready. Rejects if the first attempt fails at a program's start. */
  async connect(): Promise<void> {
    await this.#connect();
  }

  /** Resolves once it is ready, or after `ms`. */
  async untilReady(ms: number): Promise<void> {
    if (this.#client.isReady) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add(resolve);
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    this.#waiters.delete(resolve);
  }

  /** Replaces the client. Commands without an answer are lost. */
  renew(): void {
    this.close();
    this.#client = this.#make();
    // It tries until it succeeds or is closed.
    this.#connect().catch(noop);
  }

  /** Idempotent. Commands without an answer are lost. */
  close(): void {
    const client = this.#client;
    if (!client.isOpen) return;
    if (this.#trying.has(client)) this.#late.add(client);
    else client.destroy();
  }

  async #connect(): Promise<void> {
    this.#trying.add(this.#client);
    await this.#client.connect();
  }

  /** An attempt to connect has ended. */
  #tried(client: RedisClientType): void {
    this.#trying.delete(client);
    if (this.#late.delete(client) && client.isOpen) client.destroy();
  }

  #make(): RedisClientType {
    const client = this.#options.makeClient();
    client.on("reconnecting", () => this.#trying.add(client));
    client.on("error", (thrown: unknown) => {
      this.#tried(client);
      if (client === this.#client) this.#options.onError(thrown);
    });
    client.on("ready", () => {
      this.#tried(client);
      if (client !== this.#client || !client.isOpen) return;
      this.#options.onReady(client);
      for (const resolve of this.#waiters) resolve();
    });
    return client;
  }
}

function noop(): void {}
