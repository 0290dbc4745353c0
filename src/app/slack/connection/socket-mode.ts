import { setTimeout } from "node:timers/promises";
import type {
  App,
  Receiver,
  SocketModeReceiver as BoltReceiver,
  SocketModeReceiverOptions,
} from "@slack/bolt";
import { isJsonFields } from "../../../shared/text/json-fields.ts";
import { within } from "../../../shared/machine/ports.ts";
import { StartError } from "../../../shared/errors.ts";
import { counted, jsonOf } from "../../../shared/text/text.ts";
import { newSocketModeReceiver } from "./bolt.ts";
import { reconnectDelayMs, type SlackIdentityOptions, slackTrouble, type SlackTrouble } from "./identity.ts";

/** Time from asking for a connection to Slack's `hello`. */
const HELLO_TIMEOUT_MS = 30_000;
/** How long a start waits for the first connection before it continues without one. */
const START_WAIT_MS = 5000;
/**
 * A connection that ends sooner counts as failed. Otherwise connections could open and end without
 * a pause.
 */
const SETTLED_AFTER_MS = 10_000;
/** How long a replaced connection stays open for answers that belong on it. */
const LINGER_MS = 3000;
/** How long Slack may still count a connection that has ended. */
const COUNTED_FOR_MS = 60_000;

type ReceiverOptions = Omit<SocketModeReceiverOptions, "autoReconnectEnabled">;

type SocketModeOptions = Pick<SlackIdentityOptions, "clock" | "random" | "logger"> & {
  /** Asked for once. */
  receiver: () => Promise<ReceiverOptions>;
  /** Resolves when nothing is in progress. */
  drain: () => Promise<void>;
  /** True if no other program is to receive the app's requests. */
  isOnly: boolean;
};

/**
 * Keeps a Socket Mode connection to Slack. If Slack asks for a new one, it is opened before the old
 * one is closed. A connection that fails or gets no `hello` is tried again without limit, with
 * growing pauses.
 */
export class SocketMode implements Receiver {
  readonly #options: SocketModeOptions;
  /** Connections that are being opened, in use, or being closed. */
  readonly #all = new Set<SocketConnection>();
  /** Connections that have received their `hello`. */
  readonly #working = new Set<SocketConnection>();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  #app: App | null = null;
  #trouble = "not connected yet";
  /** When the latest connections ended, by the monotonic clock. */
  #endedAtMs: number[] = [];
  /** The number of connections that other programs hold, as far as Slack says. */
  #others = 0;

  constructor(options: SocketModeOptions) {
    this.#options = options;
  }

  init(app: App): void {
    this.#app = app;
  }

  /**
   * Connects. Resolves with the first connection, or without one if that takes long, and then keeps
   * trying. Rejects with a {@link StartError} if Slack refuses the token.
   */
  async start(): Promise<void> {
    const first = Promise.withResolvers<void>();
    // Both outcomes are handled below. A rejection after the wait must not end the process.
    first.promise.catch(() => {});
    void this.#keepConnected(first);
    const waited = setTimeout(START_WAIT_MS, undefined, { ref: false });
    await Promise.race([first.promise, this.#stopped.promise, waited]);
  }

  /** Closes every connection, within a bounded time. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopped.resolve();
    await Promise.all([...this.#all].map((connection) => connection.close()));
  }

  /** "ok", or what is wrong. */
  report(): string {
    if (this.#working.size > 0) return this.#others === 0 ? "ok" : sharedWith(this.#others);
    return this.#trouble === "" ? "Socket Mode is not connected" : this.#trouble;
  }

  async #keepConnected(first: PromiseWithResolvers<void>): Promise<void> {
    const { clock, logger } = this.#options;
    const receiver = await this.#options.receiver();
    let current: SocketConnection | null = null;
    let failures = 0;
    let isFirst = true;
    while (!this.#isStopped) {
      const opened = await this.#connect(receiver);
      if (this.#isStopped) return;
      if ("error" in opened && opened.isTokenRefused && isFirst) {
        const error = new StartError(
          `Slack does not open a Socket Mode connection (${opened.error}). Check SLACK_APP_TOKEN ` +
            "(xapp-…, scope connections:write) and that Socket Mode is on in your Slack app's settings.",
        );
        return first.reject(error);
      }
      first.resolve();
      if ("error" in opened) {
        failures += 1;
        isFirst = false;
        await this.#pause(failures, opened);
        continue;
      }
      if (this.#trouble !== "" && !isFirst) logger.info({}, "connected to Slack again");
      this.#trouble = "";
      isFirst = false;
      if (current !== null) void this.#leave(current);
      current = opened;
      const openedAtMs = clock.monotonicMs();
      await Promise.race([current.closed, current.refreshAsked, this.#stopped.promise]);
      // The first replacement is immediate. If connections keep ending early, the next ones wait.
      failures = clock.monotonicMs() - openedAtMs < SETTLED_AFTER_MS ? failures + 1 : 0;
      if (failures > 1) await this.#pause(failures - 1, { isTokenRefused: false, retryAfterMs: 0 });
    }
  }

  /** A connection that has received its `hello`, or why there is none. */
  async #connect(options: ReceiverOptions): Promise<SocketConnection | SlackTrouble> {
    const app = this.#app;
    if (app === null) throw new Error("init comes before start");
    const connection = openSocketConnection(options, app);
    this.#all.add(connection);
    void connection.closed.then(() => {
      this.#all.delete(connection);
      this.#working.delete(connection);
      this.#endedAtMs = [...this.#recentlyEnded(), this.#options.clock.monotonicMs()];
    });
    const opening = Promise.race([connection.opened, this.#stopped.promise]).then(
      () => null,
      (thrown: unknown) => slackTrouble(thrown ?? new Error("closed")),
    );
    const trouble = await within(this.#options.clock, HELLO_TIMEOUT_MS, opening, NO_HELLO);
    if (trouble === null) {
      this.#working.add(connection);
      this.#compare(connection.counted());
      return connection;
    }
    void connection.close().finally(() => this.#all.delete(connection));
    this.#say(
      trouble.isTokenRefused
        ? `${trouble.error}: Slack does not accept SLACK_APP_TOKEN for Socket Mode`
        : `${trouble.error}: Socket Mode can't connect`,
    );
    return trouble;
  }

  async #pause(attempt: number, trouble: Omit<SlackTrouble, "error">): Promise<void> {
    const { clock, random } = this.#options;
    const delayMs = reconnectDelayMs(attempt, trouble, random());
    await within(clock, delayMs, this.#stopped.promise, undefined);
  }

  /** Closes a replaced connection once everything that arrived over it is answered. */
  async #leave(connection: SocketConnection): Promise<void> {
    await Promise.race([this.#options.drain(), setTimeout(LINGER_MS, undefined, { ref: false })]);
    await connection.close();
  }

  /**
   * Compares the number of connections that Slack counts with ours, and logs it once if there are
   * more. At a refresh we hold two.
   */
  #compare(ofApp: number | null): void {
    const { isOnly, logger } = this.#options;
    if (!isOnly || ofApp === null) return;
    const before = this.#others;
    this.#others = Math.max(0, ofApp - this.#all.size - this.#recentlyEnded().length);
    if (this.#others > 0 && before === 0) logger.warn({ connections: ofApp }, sharedWith(this.#others));
  }

  #recentlyEnded(): number[] {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#endedAtMs.filter((atMs) => nowMs - atMs < COUNTED_FOR_MS);
  }

  /** Logs changes, not every attempt. */
  #say(trouble: string): void {
    const isNew = trouble !== this.#trouble;
    this.#trouble = trouble;
    if (isNew && !this.#isStopped)
      this.#options.logger.warn({ slack: trouble }, "no Socket Mode connection; trying again");
  }
}

function sharedWith(others: number): string {
  return (
    `Slack has ${counted(others, "more Socket Mode connection")} of this app, so another program with ` +
    "the same SLACK_APP_TOKEN receives some of its requests. Stop that program, or give it an app of its own."
  );
}

const NO_HELLO: SlackTrouble = { error: "no_hello", isTokenRefused: false, retryAfterMs: 0 };

/** Slack answers a close frame at once. We stop waiting for a peer that doesn't. */
const CLOSE_TIMEOUT_MS = 1000;

/** One Socket Mode connection, from its opening until either side closes it. */
type SocketConnection = ReturnType<typeof openSocketConnection>;

/**
 * Opens a connection with Bolt's receiver. The receiver's own reconnects can end the process (a
 * refused token), stay deaf (no `hello`) or leave seconds without a connection (at every refresh),
 * so each receiver is used for one connection only. Slack's frames go through this function,
 * because `@slack/socket-mode` 3.1 throws out of reach for an envelope without an event, and closes
 * a connection as soon as Slack asks for another.
 */
function openSocketConnection(options: ReceiverOptions, app: App) {
  const receiver = newSocketModeReceiver({ ...options, autoReconnectEnabled: false });
  receiver.init(app);
  const { client } = receiver;
  const closed = Promise.withResolvers<void>();
  const refreshAsked = Promise.withResolvers<void>();
  let isClosing = false;
  let ofApp: number | null = null;
  client.on("disconnected", () => closed.resolve());
  client.on("connected", () => {
    // The SDK keeps opening a connection that was closed before it had an address.
    if (isClosing) void client.disconnect();
  });

  const [handOn] = client.listeners("ws_message");
  client.removeAllListeners("ws_message");
  client.on("ws_message", (data: unknown, isBinary: unknown) => {
    const frame = typeof data === "string" ? jsonOf(data) : undefined;
    if (!isJsonFields(frame)) return;
    if (frame["type"] === "hello") {
      const { num_connections: connections } = frame;
      ofApp = typeof connections === "number" ? connections : null;
      return handOn?.call(client, data, isBinary);
    }
    if (frame["type"] === "disconnect") return refreshAsked.resolve();
    const envelopeId = frame["envelope_id"];
    if (typeof envelopeId !== "string") return;
    client.emit("slack_event", {
      ack: (payload: unknown) => send(receiver, envelopeId, payload),
      envelope_id: envelopeId,
      type: frame["type"],
      body: frame["payload"],
      retry_num: frame["retry_attempt"],
      retry_reason: frame["retry_reason"],
      accepts_response_payload: frame["accepts_response_payload"],
    });
  });

  return {
    /** Resolves with Slack's `hello`, and rejects if there is none. */
    opened: receiver.start(),
    /** Resolves when Slack asks to replace this connection, which still works for some seconds. */
    refreshAsked: refreshAsked.promise,
    closed: closed.promise,
    /** How many connections the app had with this one, as Slack counted. Null if it didn't say. */
    counted: () => ofApp,
    /** Resolves once it is closed for good, within a bounded time. */
    async close(): Promise<void> {
      isClosing = true;
      const late = setTimeout(CLOSE_TIMEOUT_MS, "late", { ref: false });
      if ((await Promise.race([client.disconnect(), late])) !== "late") return;
      // A second call drops the connection without waiting for the peer.
      void client.disconnect();
    },
  };
}

function send(receiver: BoltReceiver, envelopeId: string, answer: unknown): Promise<void> {
  const payload = typeof answer === "string" ? { text: answer } : (answer ?? {});
  return new Promise((resolve, reject) => {
    const { websocket } = receiver.client;
    if (websocket?.isActive() !== true) {
      reject(new Error("The Socket Mode connection was closed before the answer to Slack."));
      return;
    }
    websocket.send(JSON.stringify({ envelope_id: envelopeId, payload }), (error) =>
      error === undefined ? resolve() : reject(error),
    );
  });
}
