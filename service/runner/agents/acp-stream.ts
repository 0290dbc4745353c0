import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { TurnFailedError } from "../../base/run-error.ts";

/** An agent that waits for an answer now and then has a handful of them. */
const MAX_UNANSWERED = 1000;
const LINE_FEED = 0x0a;
/** JSON's white space is this and less. */
const SPACE = 0x20;

/**
 * The messages that an agent and we exchange: JSON, one in each line. Nothing more is read of an
 * agent than can be handled. One that sends on and on without reading what it is answered ends its
 * turn: the stream fails with a `TurnFailedError`.
 */
export function acpStream(toAgent: Writable, fromAgent: Readable): Stream {
  /** What the agent sent and hasn't read an answer to, answers that nobody asked for among it. */
  let unanswered = 0;
  /** How many answers we wait for. */
  let expected = 0;

  async function* messages(): AsyncGenerator<AnyMessage> {
    for await (const line of linesOf(fromAgent)) {
      const message = messageOf(line);
      if (message === null) continue;
      const [hasMethod, hasId] = ["method" in message, "id" in message];
      if (!hasMethod && hasId && expected > 0) expected -= 1;
      // All but a notification.
      else if (!hasMethod || hasId) unanswered += 1;
      if (unanswered > MAX_UNANSWERED) {
        throw new TurnFailedError(
          `The agent sent more than ${MAX_UNANSWERED} messages without waiting for answers, and was stopped.`,
        );
      }
      yield message;
    }
  }

  async function send(message: AnyMessage): Promise<void> {
    if ("method" in message && "id" in message) expected += 1;
    if (!toAgent.writable) throw new Error("The agent reads nothing more");
    if (!toAgent.write(`${JSON.stringify(message)}\n`)) await drained(toAgent);
    if (!("method" in message)) unanswered -= 1;
  }

  return {
    readable: ReadableStream.from(messages()),
    writable: new WritableStream({ write: send }),
  };
}

/** Blank space before a line is skipped here: an agent can send millions of empty lines. */
async function* linesOf(input: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of input) {
    const bytes: Buffer = chunk;
    let start = 0;
    for (;;) {
      if (parts.length === 0) start = afterBlanks(bytes, start);
      const end = bytes.indexOf(LINE_FEED, start);
      if (end < 0) break;
      yield Buffer.concat([...parts, bytes.subarray(start, end)]);
      parts = [];
      start = end + 1;
    }
    if (start < bytes.length) parts.push(bytes.subarray(start));
  }
  yield Buffer.concat(parts);
}

function afterBlanks(bytes: Buffer, start: number): number {
  let at = start;
  while ((bytes[at] ?? Infinity) <= SPACE) at += 1;
  return at;
}

/**
 * What a line says; null if it says nothing. What is no message is an empty one, which is answered
 * as nonsense.
 */
function messageOf(line: Buffer): AnyMessage | null {
  const text = line.toString("utf8").trim();
  if (text === "") return null;
  let message: AnyMessage = JSON.parse("{}");
  try {
    const said: AnyMessage = JSON.parse(text);
    if (typeof said === "object" && said !== null && !Array.isArray(said)) message = said;
  } catch {
    // It stays empty.
  }
  return message;
}

/** Resolves when a stream takes more, or is closed. */
export async function drained(stream: Writable): Promise<void> {
  const over = new AbortController();
  const ends = ["drain", "close"].map((name) => once(stream, name, { signal: over.signal }));
  await Promise.race(ends).catch(() => {});
  over.abort();
}
