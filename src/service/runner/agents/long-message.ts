import type { AnyMessage } from "@agentclientprotocol/sdk";
import { readLine } from "./acp-message.ts";

/** What is read of a message, however it is made. Empty if it isn't JSON. */
export function readLongMessage(line: Buffer): AnyMessage {
  return readLine(line.toString("utf8").trim());
}
