import type { AnyMessage } from "@agentclientprotocol/sdk";
import { jsonOf } from "../../../src/core/text/text.ts";
import { readMessage } from "./acp-message.ts";

/** What is read of a message, however it is made. Empty if it isn't JSON. */
export function readLongMessage(line: Buffer): AnyMessage {
  return readMessage(jsonOf(line.toString("utf8").trim()));
}
