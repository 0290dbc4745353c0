import { setTimeout } from "node:timers/promises";
import type { SocketModeReceiver as Receiver, SocketModeReceiverOptions } from "@slack/bolt";
import { SocketModeReceiver } from "./bolt.ts";
import { isObject } from "./slack-body.ts";

/** Slack answers a close frame at once. We stop waiting for a peer that doesn't. */
const CLOSE_TIMEOUT_MS = 1000;

/** One Socket Mode connection, from its opening until either side closes it. */
export type SocketConnection = {
  /** Resolves with Slack's `hello`, and rejects if there is none. */
  opened: Promise<void>;
  /** Resolves when Slack asks to replace this connection, which still works for some seconds. */
  refreshAsked: Promise<void>;
  closed: Promise<void>;
  /** Resolves once it is closed for good, within a bounded time. */
  close(): Promise<void>;
};

/**
 * Opens a connection with Bolt's receiver. The receiver's own reconnects can end the process (a
 * refused token), stay deaf (no `hello`) or leave seconds without a connection (at every refresh),
 * so each receiver is used for one connection only. Slack's frames go through this function,
 * because `@slack/socket-mode` 3.1 throws out of reach for an envelope without an event, and closes
 * a connection as soon as Slack asks for another.
 */
export function openSocketConnection(
  options: Omit<SocketModeReceiverOptions, "autoReconnectEnabled">,
  init: (receiver: Receiver) => void,
): SocketConnection {
  const receiver = new SocketModeReceiver({ ...options, autoReconnectEnabled: false });
  init(receiver);
  const { client } = receiver;
  const closed = Promise.withResolvers<void>();
  const refreshAsked = Promise.withResolvers<void>();
  let isClosing = false;
  client.on("disconnected", () => closed.resolve());
  client.on("connected", () => {
    // The SDK keeps opening a connection that was closed before it had an address.
    if (isClosing) void client.disconnect();
  });

  const [handOn] = client.listeners("ws_message");
  client.removeAllListeners("ws_message");
  client.on("ws_message", (data: unknown, isBinary: unknown) => {
    const frame = parsed(data);
    if (frame === null) return;
    if (frame["type"] === "hello") {
      handOn?.call(client, data, isBinary);
      return;
    }
    if (frame["type"] === "disconnect") {
      refreshAsked.resolve();
      return;
    }
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
    opened: receiver.start().then(() => {}),
    refreshAsked: refreshAsked.promise,
    closed: closed.promise,
    async close() {
      isClosing = true;
      const late = setTimeout(CLOSE_TIMEOUT_MS, "late", { ref: false });
      if ((await Promise.race([client.disconnect(), late])) !== "late") return;
      // A second call drops the connection without waiting for the peer.
      void client.disconnect();
    },
  };
}

function parsed(data: unknown): Record<string, unknown> | null {
  if (typeof data !== "string") return null;
  try {
    const frame: unknown = JSON.parse(data);
    return isObject(frame) ? frame : null;
  } catch {
    return null;
  }
}

function send(receiver: Receiver, envelopeId: string, answer: unknown): Promise<void> {
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
