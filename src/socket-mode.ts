import { setTimeout } from "node:timers/promises";
import type { SocketModeReceiver } from "@slack/bolt";
import { messageOf } from "./errors.ts";
import { StartError } from "./start-error.ts";

const CONNECT_TIMEOUT_MS = 30_000;
/** Slack answers a close frame at once; a peer that does not is left behind. */
const DISCONNECT_TIMEOUT_MS = 1000;

/** Connects, or rejects with a {@link StartError}. */
export async function connectSocket(receiver: SocketModeReceiver): Promise<void> {
  const connected = await Promise.race([
    receiver.start().catch((thrown: unknown) => {
      throw new StartError(
        `Slack does not open a Socket Mode connection (${messageOf(thrown)}). Check SLACK_APP_TOKEN (xapp-…, scope connections:write) and that Socket Mode is on in your Slack app's settings.`,
      );
    }),
    setTimeout(CONNECT_TIMEOUT_MS, "late" as const, { ref: false }),
  ]);
  if (connected === "late") {
    throw new StartError(
      `Slack did not open a Socket Mode connection within ${CONNECT_TIMEOUT_MS / 1000} s. Check the network, then start again.`,
    );
  }
}

/** Disconnects and waits for it, for a bounded time. */
export async function disconnectSocket(receiver: SocketModeReceiver): Promise<void> {
  await Promise.race([
    receiver.client.disconnect(),
    setTimeout(DISCONNECT_TIMEOUT_MS, undefined, { ref: false }),
  ]);
}
