import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { createAgent } from "./acp-agent.ts";
import { moodIn } from "./mood.ts";

// Only the protocol may write to standard output. The program ends when the client closes its side.
const connection = createAgent(() => moodIn(process.argv[2])).connect(
  ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)),
);
await connection.closed;
