import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { TurnFailedError } from "../../base/run-error.ts";
import { readLine } from "./acp-message.ts";
import type { AgentRun } from "./agent.ts";

/** An agent that sometimes waits for an answer has a handful of these. */
const MAX_UNANSWERED = 1000;
/**
 * What is longer is parsed in another process, because a message can be made so that a megabyte
 * takes a tenth of a second, and thirty times its size in memory.
 */
const MAX_BYTES_HERE = 64 * 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;
/** White space in JSON is this character or lower ones. */
const SPACE = 0x20;

/**
 * The messages between an agent and us: JSON, one per line. We only read as much from an agent as
 * we can handle. If it keeps sending without reading our answers, or sends a message that is too
 * long or takes too long to read, its turn ends: the stream fails with a `TurnFailedError`.
 * `isRead` resolves once nothing more is read.
 */
export function acpStream(
  toAgent: Writable,
  fromAgent: Readable,
  { apart }: Pick<AgentRun, "apart">,
): Stream & { isRead: Promise<void> } {
  /**
   * The number of messages that the agent sent without reading our answer, including answers that
   * nobody asked for.
   */
  let unanswered = 0;
  /** The number of answers that we wait for. */
  let expected = 0;
  const { promise: isRead, resolve: setRead } = Promise.withResolvers<void>();

  async function* messages(): AsyncGenerator<AnyMessage> {
    try {
      yield* handled();
    } finally {
      setRead();
    }
  }

  async function* handled(): AsyncGenerator<AnyMessage> {
    for await (const line of linesOf(fromAgent)) {
      const isLong = line.length > MAX_BYTES_HERE;
      const message = isLong ? await apart.read("readLongMessage", line) : messageOf(line);
      if (message === null) continue;
      const [hasMethod, hasId] = ["method" in message, "id" in message];
      if (!hasMethod && hasId && expected > 0) expected -= 1;
      // Everything but a notification needs an answer.
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
    isRead,
  };
}

/** White space before a line is skipped here, because an agent can send millions of empty lines. */
async function* linesOf(input: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let partsBytes = 0;
  for await (const chunk of input) {
    const bytes: Buffer = chunk;
    let start = 0;
    for (;;) {
      if (parts.length === 0) start = afterBlanks(bytes, start);
      const end = bytes.indexOf(LINE_FEED, start);
      if (end < 0) break;
      yield Buffer.concat([...parts, bytes.subarray(start, end)]);
      parts = [];
      partsBytes = 0;
      start = end + 1;
    }
    if (start < bytes.length) parts.push(bytes.subarray(start));
    partsBytes += bytes.length - start;
    if (partsBytes > MAX_LINE_BYTES) {
      throw new TurnFailedError(
        `The agent sent a message of more than ${MAX_LINE_BYTES / 1024 / 1024} MB, and was stopped.`,
      );
    }
  }
  yield Buffer.concat(parts);
}

function afterBlanks(bytes: Buffer, start: number): number {
  let at = start;
  while ((bytes[at] ?? Infinity) <= SPACE) at += 1;
  return at;
}

/**
 * Parses a line, or returns null if it is empty. Something that isn't a message becomes an empty
 * one, which is answered with an error.
 */
function messageOf(line: Buffer): AnyMessage | null {
  const text = line.toString("utf8").trim();
  return text === "" ? null : readLine(text);
}

/** Resolves when a stream accepts more, or is closed. */
export async function drained(stream: Writable): Promise<void> {
  const over = new AbortController();
  const ends = ["drain", "close"].map((name) => once(stream, name, { signal: over.signal }));
  await Promise.race(ends).catch(() => {});
  over.abort();
}
