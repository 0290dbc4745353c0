import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import * as z from "zod";
import { makeSecret } from "./ids.ts";
import { jsonOf } from "../../src/shared/text/text.ts";

/** Real clients close a connection that gets no ping for 30 s. */
const PING_INTERVAL_MS = 5000;

const Ack = z.object({ envelope_id: z.string(), payload: z.unknown().optional() });

export type EnvelopeType = "slash_commands" | "interactive" | "events_api";

/**
 * Slack's side of Socket Mode: tickets for one use each, `hello`, envelopes and their acks, pings,
 * and `disconnect`. See https://docs.slack.dev/apis/events-api/using-socket-mode
 */
export class SocketModeSide {
  /** The number of connections that the app held after each change of it, oldest first. */
  readonly connectionCounts: number[] = [];
  /** The number of ended connections that Slack still counts. */
  ghosts = 0;
  readonly #appId: string;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #tickets = new Set<string>();
  readonly #connections = new Set<WebSocket>();
  readonly #waiting = new Map<string, (payload: unknown) => void>();
  readonly #connectedListeners = new Set<() => void>();
  /** Connections that were opened and get nothing. */
  readonly #deaf = new Set<WebSocket>();
  #helloWithheld = 0;
  #baseUrl = "";

  constructor(appId: string) {
    this.#appId = appId;
  }

  /** The number of connections that the app holds. */
  get connections(): number {
    return this.#connections.size;
  }

  /** The number of connections that wait for a `hello` that doesn't come. */
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
   * Takes an HTTP upgrade. It becomes a connection if its ticket was issued and not used.
   * Everything else gets 401.
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

  /** Resolves when the app holds a connection. Rejects after `timeoutMs`. */
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
   * Sends an envelope over one of the app's connections and waits for its ack. The connections take
   * turns, although Slack promises only that it uses one of them. Resolves to `undefined` if no ack
   * comes within `timeoutMs`.
   */
  async send(
    envelope: { envelope_id: string },
    text: string,
    timeoutMs: number,
  ): Promise<{ payload: unknown } | undefined> {
    const [connection] = this.#connections;
    if (connection === undefined) return undefined;
    // The connection goes to the end of the line.
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

  /** Asks the app to connect again, as Slack does about once an hour. */
  disconnect(reason: "refresh_requested" | "warning" | "link_disabled" = "refresh_requested"): void {
    for (const connection of this.#connections) {
      connection.send(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "playground" } }));
    }
  }

  /** Sends no `hello` and nothing else over the next `times` connections. */
  withholdHello(times: number): void {
    this.#helloWithheld = times;
  }

  /** Sends this text over each connection, unchanged. */
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
    const pings = setInterval(() => connection.ping(), PING_INTERVAL_MS);
    connection.on("message", (data) => this.#receive(textOf(data)));
    // If an app is killed, its socket is reset. That isn't a fault of the stand-in.
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
