import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import * as z from "zod";
import { makeSecret } from "./ids.ts";
import { jsonOf } from "../../src/shared/text/text.ts";

/** Real clients drop a connection that stays without a ping for 30 s. */
const pingIntervalMs = 5000;

const Ack = z.object({ envelope_id: z.string(), payload: z.unknown().optional() });

export type EnvelopeType = "slash_commands" | "interactive" | "events_api";

/**
 * Slack's end of Socket Mode: one-time tickets, `hello`, envelopes and their acks, pings,
 * `disconnect`. See https://docs.slack.dev/apis/events-api/using-socket-mode
 */
export class SocketModeSide {
  /** How many connections the app held after each change of that, oldest first. */
  readonly connectionCounts: number[] = [];
  /** How many connections that have ended Slack still counts. */
  ghosts = 0;
  readonly #appId: string;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #tickets = new Set<string>();
  readonly #connections = new Set<WebSocket>();
  readonly #waiting = new Map<string, (payload: unknown) => void>();
  readonly #connectedListeners = new Set<() => void>();
  /** Connections that were opened and hear nothing. */
  readonly #deaf = new Set<WebSocket>();
  #helloWithheld = 0;
  #baseUrl = "";

  constructor(appId: string) {
    this.#appId = appId;
  }

  /** How many connections the app holds. */
  get connections(): number {
    return this.#connections.size;
  }

  /** How many connections wait for their `hello`, in vain. */
  get deafConnections(): number {
    return this.#deaf.size;
  }

  listenAt(baseUrl: string): void {
    this.#baseUrl = baseUrl.replace(/^http/, "ws");
  }

  issueUrl(): string {
    const ticket = makeSecret();
    this.#tickets.add(ticket);
    return `${this.#baseUrl}link/?ticket=${ticket}&app_id=${this.#appId}`;
  }

  /**
   * Takes an HTTP upgrade: a connection for a ticket that was issued and not used, 401 for anything
   * else.
   */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? "/", "http://localhost");
    const isLink = url.pathname === "/link/" && this.#tickets.delete(url.searchParams.get("ticket") ?? "");
    if (!isLink) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#open(connection));
  }

  /** Resolves when the app holds a connection; rejects after `timeoutMs`. */
  async whenConnected(timeoutMs = 10_000): Promise<void> {
    if (this.connections > 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new Error(`No Socket Mode connection within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    this.#connectedListeners.add(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#connectedListeners.delete(resolve);
    }
  }

  /**
   * Sends an envelope over one of the app's connections, each in turn (Slack promises no order,
   * only that it is one), and waits for its ack; `undefined` when none came within `timeoutMs`.
   */
  async send(
    envelope: { envelope_id: string },
    text: string,
    timeoutMs: number,
  ): Promise<{ payload: unknown } | undefined> {
    const [connection] = this.#connections;
    if (connection === undefined) return undefined;
    // To the end of the line.
    this.#connections.delete(connection);
    this.#connections.add(connection);
    const { promise, resolve } = Promise.withResolvers<{ payload: unknown } | undefined>();
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    this.#waiting.set(envelope.envelope_id, (payload) => resolve({ payload }));
    connection.send(text);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(envelope.envelope_id);
    }
  }

  /** Asks the app to reconnect, as Slack does about once an hour. */
  disconnect(reason: "refresh_requested" | "warning" | "link_disabled" = "refresh_requested"): void {
    for (const connection of this.#connections) {
      connection.send(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "playground" } }));
    }
  }

  /** The next so many connections get no `hello`, nor anything else. */
  withholdHello(times: number): void {
    this.#helloWithheld = times;
  }

  /** Sends each connection this, as it is. */
  sendRaw(text: string): void {
    for (const connection of this.#connections) connection.send(text);
  }

  /** Breaks every connection. */
  drop(): void {
    for (const connection of this.#connections) connection.terminate();
  }

  close(): void {
    for (const connection of [...this.#connections, ...this.#deaf]) connection.terminate();
    this.#server.close();
  }

  #open(connection: WebSocket): void {
    if (this.#helloWithheld > 0) {
      this.#helloWithheld -= 1;
      this.#deaf.add(connection);
      connection.on("error", () => connection.terminate());
      connection.on("close", () => this.#deaf.delete(connection));
      return;
    }
    const pings = setInterval(() => connection.ping(), pingIntervalMs);
    connection.on("message", (data) => this.#receive(textOf(data)));
    // An app that is killed resets its socket; that is its right.
    connection.on("error", () => connection.terminate());
    connection.on("close", () => {
      clearInterval(pings);
      this.#connections.delete(connection);
      this.connectionCounts.push(this.connections);
    });
    this.#connections.add(connection);
    this.connectionCounts.push(this.connections);
    connection.ping();
    connection.send(
      JSON.stringify({
        type: "hello",
        num_connections: this.connections + this.ghosts,
        debug_info: { host: "playground", build_number: 1, approximate_connection_time: 18_060 },
        connection_info: { app_id: this.#appId },
      }),
    );
    for (const connected of this.#connectedListeners) connected();
  }

  #receive(text: string): void {
    const ack = Ack.safeParse(jsonOf(text));
    if (ack.success) this.#waiting.get(ack.data.envelope_id)?.(ack.data.payload);
  }
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.from(data).toString("utf8");
}
