import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composePrompt } from "../../../src/app/rules/words/prompt.ts";
import { readableText } from "../../../src/app/rules/words/readable-text.ts";
import type { ThreadMessage } from "../../../src/app/rules/turn/request.ts";
import { allSegments } from "../../../src/app/rules/thread/messages-to-share.ts";
import {
  ReceivedMessage,
  threadMessage,
  toPersonMessage,
  WrittenMessage,
} from "../../../src/app/slack/message/slack-message.ts";

const TS = "1764300000.000100";
const MAX_CHARS = 20_000;
const NAMES = { people: new Map(), channels: new Map(), groups: new Map(), permalink: null };

type Parts = { blocks?: unknown; attachments?: unknown; files?: unknown };

function asked(parts: Parts) {
  const message = { channel: "C0DOCS", user: "U0ANA", ts: TS, text: "fix this", ...parts };
  return toPersonMessage("T0ACME", WrittenMessage.parse(message));
}

function read(parts: Parts): ThreadMessage {
  return threadMessage(ReceivedMessage.parse({ ts: TS, user: "U0ANA", ...parts }));
}

function charsOf(message: ThreadMessage | null): number {
  return message === null ? 0 : readableText(allSegments(message)).length;
}

function leftOutOf(message: ThreadMessage): Record<string, number> {
  const parts = [message, ...(message.shows ?? [])].flatMap(({ leftOut = [] }) => leftOut);
  const counts: Record<string, number> = {};
  for (const { what, count } of parts) counts[what] = (counts[what] ?? 0) + count;
  return counts;
}

const FIELDS = (
  "type text elements rows fields title url options child_blocks alt_text blocks attachments " +
  "message_blocks message files author_id ts user is_share style indent offset timestamp accessory " +
  "confirm transcription preview mode content plain_text fallback actions from id name call v1 tasks element"
).split(" ");
const WORDS = [
  ...(
    "rich_text rich_text_list rich_text_quote rich_text_section text link date user table section container " +
    "image plain_text mrkdwn raw_number plan new_kind ordered email tombstone U0GUS"
  ).split(" "),
  TS,
  "<@U0BEN> &amp; <https://x.test|a>",
  "",
  "\ud83d",
  "\n",
];

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 8, depthSize: "large" },
    fc.constantFrom<unknown>(...WORDS, null, true, 0, -1, 1e300, 2.5),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie("json"), { maxKeys: 8 }),
  ),
}));
const list = fc.oneof(fc.array(json, { maxLength: 5 }), fc.array(fc.jsonValue(), { maxLength: 3 }));

describe("anything in a message's blocks, attachments and files", () => {
  it("is read, within bounds, and can be quoted", () => {
    fc.assert(
      fc.property(list, list, list, (blocks, attachments, files) => {
        const { typed, beside } = asked({ blocks, attachments, files });
        expect(readableText(typed)).toBe("fix this");
        expect(charsOf(beside)).toBeLessThanOrEqual(2 * MAX_CHARS);
        const message = read({ blocks, attachments, files });
        const request = { channelId: "C0DOCS", instructions: "fix this" };
        const quoted = { ...message, channelId: "C0DOCS", threadTs: null };
        for (const quoting of [{ quoted: null, ...(beside && { beside }) }, { quoted }]) {
          const { prompt } = composePrompt({ ...request, ...quoting }, NAMES);
          expect(prompt.startsWith("fix this")).toBe(true);
        }
      }),
    );
  });

  it("of no list is nothing, where a person asks", () => {
    expect(asked({ blocks: "none", attachments: { a: 1 } }).beside).toBeNull();
  });
});

/** A block inside blocks. */
function nested(depth: number): unknown {
  let block: unknown = { type: "section", text: { type: "mrkdwn", text: "innermost" } };
  for (let n = 0; n < depth; n += 1) block = { type: "container", child_blocks: [block] };
  return block;
}

/** A message that shows another one, and so on. */
function nestedForward(depth: number): unknown {
  let message: Record<string, unknown> = { user: "U0BEN", text: "innermost" };
  for (let n = 0; n < depth; n += 1) {
    const attachment = {
      is_share: true,
      author_id: "U0BEN",
      text: `level ${n}`,
      message_blocks: [{ message }],
    };
    message = { user: "U0BEN", attachments: [attachment] };
  }
  return { is_share: true, author_id: "U0BEN", message_blocks: [{ message }] };
}

describe("a message beyond all measure", () => {
  it("in letters of three bytes fits into a prompt, which says what was cut", () => {
    const instructions = "語".repeat(4_000);
    const attachments = [{ is_share: true, author_id: "U0BEN", text: "書".repeat(30_000) }];
    const { beside } = asked({ attachments });
    const request = { channelId: "C0DOCS", instructions, quoted: null, ...(beside && { beside }) };
    const { prompt } = composePrompt(request, NAMES);
    expect(Buffer.byteLength(prompt)).toBeLessThanOrEqual(64 * 1024);
    expect(prompt).toMatch(/^語{4000}\n[\s\S]*書{10000}[\s\S]*\[cut here: \d+ more characters in Slack\]$/);
  });

  it("without a time says that it has none", () => {
    const { beside } = asked({ attachments: [{ is_share: true, author_id: "U0BEN", text: "The FAQ" }] });
    const request = { channelId: "C0DOCS", instructions: "fix", quoted: null, ...(beside && { beside }) };
    expect(composePrompt(request, NAMES).prompt).toContain(
      "Forwarded message by U0BEN, at an unknown time:\n> The FAQ",
    );
  });

  it("of 100 forwards keeps what there is room for, and counts the rest", () => {
    const text = "x".repeat(5_000);
    const attachments = Array.from({ length: 100 }, (_, n) => ({ is_share: true, author_id: `U${n}`, text }));
    const message = read({ attachments });
    expect(charsOf(message)).toBeLessThanOrEqual(MAX_CHARS + 100);
    expect(leftOutOf(message)).toEqual({ character: 100 * 5_000 - MAX_CHARS });
    expect(message.shows).toHaveLength(100);
  });

  it("of 50 tables with 10,000 cells keeps the first rows, and counts the rest", () => {
    const cell = { type: "raw_text", text: "9000 calls" };
    const wide = { type: "table", rows: [Array.from({ length: 10_000 }, () => cell)] };
    const long = { type: "table", rows: Array.from({ length: 10_000 }, () => [cell]) };
    const tables = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? wide : long));
    const message = read({ blocks: tables });
    expect(charsOf(message)).toBeLessThanOrEqual(MAX_CHARS);
    const { "table row": rows = 0, "table column": columns } = leftOutOf(message);
    expect(columns).toBe(25 * (10_000 - 20));
    const lines = readableText(message.segments).split("\n");
    // A row may be cut in the middle.
    expect(Math.abs(lines.length + rows - 25 * 10_001)).toBeLessThanOrEqual(1);
    expect(lines[0]).toBe(Array.from({ length: 20 }, () => "9000 calls").join(" | "));
  });

  it("of 200 rows and 20 columns is whole", () => {
    const row = Array.from({ length: 20 }, (_, n) => ({ type: "raw_number", value: n, text: `${n}` }));
    const message = read({ blocks: [{ type: "table", rows: Array.from({ length: 200 }, () => row) }] });
    expect(message.leftOut).toBeUndefined();
    expect(readableText(message.segments).split("\n")).toHaveLength(200);
  });

  it("of blocks nested 60 deep is read, and one of blocks nested 100,000 deep counts as left out", () => {
    expect(readableText(read({ blocks: [nested(60)] }).segments)).toBe("innermost");
    expect(leftOutOf(read({ blocks: [nested(100_000)] }))).toEqual({ "nested part": 1 });
  });

  it("of messages in messages is read to a depth, and the rest counts as left out", () => {
    expect(readableText(allSegments(read({ attachments: [nestedForward(5)] })))).toContain("innermost");
    const deep = read({ attachments: [nestedForward(10_000)] });
    expect(leftOutOf(deep)).toEqual({ "forwarded message": 1 });
    expect(deep.shows?.length).toBeLessThanOrEqual(200);
  });
});
