import { describe, expect, it } from "vitest";
import { readableText } from "../../../src/app/rules/words/readable-text.ts";
import { allSegments } from "../../../src/app/rules/thread/messages-to-share.ts";
import {
  ReceivedMessage,
  threadMessage,
  toPersonMessage,
  WrittenMessage,
} from "../../../src/app/slack/message/slack-message.ts";

const TS = "1764300000.000100";

type Parts = {
  text?: string;
  blocks?: unknown[];
  attachments?: unknown[];
  files?: unknown[];
  bot_id?: string;
};

/** A message as it is quoted. */
function read(parts: Parts): string {
  return readableText(allSegments(threadMessage(ReceivedMessage.parse({ ts: TS, user: "U0BEN", ...parts }))));
}

/** What a person's message shows beside what they typed. */
function beside(parts: Parts) {
  const message = { channel: "C0DOCS", user: "U0ANA", ts: TS, ...parts };
  return toPersonMessage("T0ACME", WrittenMessage.parse(message));
}

const text = (said: string, style?: object) => ({ type: "text", text: said, ...(style && { style }) });
const section = (...elements: unknown[]) => ({ type: "rich_text_section", elements });
const rich = (...elements: unknown[]) => ({ type: "rich_text", elements });

describe("rich text", () => {
  it.each<[string, unknown[], string]>([
    [
      "lists go on where they were interrupted",
      [
        {
          type: "rich_text_list",
          style: "ordered",
          elements: [section(text("install")), section(text("run"))],
        },
        { type: "rich_text_list", style: "bullet", indent: 1, elements: [section(text("twice"))] },
        { type: "rich_text_list", style: "ordered", offset: 2, elements: [section(text("stop"))] },
      ],
      "1. install\n2. run\n  • twice\n3. stop",
    ],
    [
      "quotes and code keep their marks, and code has plain spaces",
      [
        { type: "rich_text_quote", elements: [text("one\ntwo")] },
        { type: "rich_text_preformatted", elements: [text("npm install\nnpm start")] },
        section(
          text("use "),
          text("--listen", { code: true }),
          text(", not "),
          text("--port", { strike: true }),
        ),
      ],
      "> one\n> two\n```\nnpm install\nnpm start\n```\nuse `--listen`, not ~--port~",
    ],
    [
      "groups, broadcasts, dates, colors and links are readable",
      [
        section(
          { type: "broadcast", range: "here" },
          text(" "),
          { type: "usergroup", usergroup_id: "S0DOCS" },
          text(" "),
          { type: "date", timestamp: 1764300000, format: "{date}", fallback: "November 28th" },
          text(" "),
          { type: "date", timestamp: 1764300000, format: "{date}" },
          text(" "),
          { type: "color", value: "#0fa" },
          text(" "),
          { type: "link", url: "https://x.test/a", text: "the guide" },
          text(" "),
          { type: "emoji", name: "tada" },
        ),
      ],
      "@here a user group November 28th 2025-11-28 03:20 UTC #0fa the guide (https://x.test/a) :tada:",
    ],
  ])("%s", (_, elements, expected) => {
    expect(read({ blocks: [rich(...elements)] })).toBe(expected);
  });
});

describe("a text and its blocks come once", () => {
  const typed = rich(section(text("use "), text("--listen", { code: true })));
  const table = {
    type: "table",
    rows: [
      [
        { type: "raw_text", text: "a" },
        { type: "raw_number", value: 7 },
      ],
    ],
  };

  it.each<[string, Parts, string]>([
    ["a person's", { text: "use `--listen`", blocks: [typed] }, "use `--listen`"],
    [
      "a person's, with a table under it",
      { text: "use `--listen`", blocks: [typed, table] },
      "use `--listen`\na | 7",
    ],
    [
      "an app's that says the same",
      { bot_id: "B0", text: "use `--listen`", blocks: [typed] },
      "use `--listen`",
    ],
    [
      "an app's that only notifies",
      { bot_id: "B0", text: "New ticket", blocks: [typed, table] },
      "use `--listen`\na | 7",
    ],
    [
      "an app's without words in its blocks",
      { bot_id: "B0", text: "New ticket", blocks: [{ type: "divider" }] },
      "New ticket",
    ],
    ["a message in blocks alone", { text: "", blocks: [typed] }, "use `--listen`"],
  ])("%s", (_, parts, expected) => {
    expect(read(parts)).toBe(expected);
  });

  it("and what a person typed stays the request, with the table beside it", () => {
    const message = beside({ text: "use `--listen`", blocks: [typed, table] });
    expect(readableText(message.typed)).toBe("use `--listen`");
    expect(readableText(message.beside?.segments ?? [])).toBe("a | 7");
    expect(beside({ text: "use `--listen`", blocks: [typed] }).beside).toBeNull();
  });
});

describe("a block that nobody knows yet", () => {
  it.each<[string, object, string]>([
    ["text", { text: { type: "plain_text", text: "say it" } }, "say it"],
    ["alt_text", { alt_text: "a chart" }, "a chart"],
    ["title", { title: "Quarter" }, "Quarter"],
    ["fallback", { fallback: "a chart of calls" }, "a chart of calls"],
  ])("shows its %s", (_, fields, expected) => {
    expect(read({ blocks: [{ type: "hologram", ...fields }] })).toBe(expected);
  });

  it("counts as left out if it has none of them", () => {
    const message = beside({ text: "look", blocks: [{ type: "hologram", rays: [1] }] });
    expect(message.beside?.leftOut).toEqual([{ what: "part", count: 1 }]);
  });
});

describe("files with words", () => {
  it("bring along what a voice clip says, and how it ends is counted if Slack cuts it", () => {
    const preview = { content: "the FAQ is wrong", has_more: true };
    const file = { id: "F1", name: "audio_message.m4a", subtype: "slack_audio", transcription: { preview } };
    const message = beside({ text: "", files: [file] });
    expect(readableText(message.beside?.segments ?? [])).toBe(
      "Transcript of audio_message.m4a: the FAQ is wrong",
    );
    expect(message.beside?.leftOut).toEqual([{ what: "transcript ending", count: 1 }]);
    expect(message.beside?.quotesOthers).toBeUndefined();
  });

  it("bring along an email, which somebody else wrote", () => {
    const from = [{ original: "Cleo <cleo@example.com>" }];
    const file = {
      id: "F1",
      mode: "email",
      name: "Menu",
      subject: "The menu",
      from,
      plain_text: "It moved.",
    };
    const message = beside({ text: "fix it", files: [file] });
    expect(readableText(message.beside?.segments ?? [])).toBe(
      "Email: The menu\nFrom: Cleo <cleo@example.com>\nIt moved.",
    );
    expect(message.beside?.quotesOthers).toBe(true);
  });

  it("bring along what a person says of a picture", () => {
    const file = { id: "F1", name: "menu.png", title: "The old menu", alt_txt: "a menu with five entries" };
    expect(readableText(beside({ text: "x", files: [file] }).beside?.segments ?? [])).toBe(
      "Title of menu.png: The old menu\nDescription of menu.png: a menu with five entries",
    );
    expect(beside({ text: "", files: [file] }).isTelling).toBe(false);
    const plain = { id: "F1", name: "menu.png", title: "menu" };
    expect(beside({ text: "x", files: [plain] }).beside).toBeNull();
  });
});
