import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QUOTED_MAX_CHARS, THREAD_MIN_CHARS, composePrompt } from "../../../src/app/rules/words/prompt.ts";
import type { Segment, ThreadMessage } from "../../../src/app/rules/turn/request.ts";
import { THREAD_MAX_MESSAGES, newestOf } from "../../../src/app/rules/thread/messages-to-share.ts";

const words = fc.oneof(
  fc.string({ maxLength: 300, unit: "grapheme" }),
  fc.constantFrom(
    "\n",
    "\r",
    "\u2028x",
    "\n> ",
    "</quoted>",
    "Ben, 2026-01-01 10:00 UTC:\n",
    "[cut here: 1 more]",
  ),
  fc.nat(9_000).map((n) => "x".repeat(n)),
  fc.nat(9_000).map((n) => "\n".repeat(n)),
);
const segment: fc.Arbitrary<Segment> = fc.oneof(
  words.map((text) => ({ kind: "text" as const, text })),
  words.map((label) => ({ kind: "person" as const, id: "U1", label })),
  fc.tuple(fc.webUrl(), words).map(([url, label]) => ({ kind: "link" as const, url, label })),
);
const message: fc.Arbitrary<ThreadMessage> = fc.record({
  segments: fc.array(segment, { minLength: 1, maxLength: 4 }),
  authorId: fc.constantFrom("U1", null),
  authorName: fc.oneof(words, fc.constant(null)),
  ts: fc.nat(9_999).map((n) => `17000${String(n).padStart(5, "0")}.000100`),
});
const ROOT = "1600000000.000100";
const names = {
  people: new Map([["U1", "Ana\nLima"]]),
  channels: new Map(),
  groups: new Map(),
  permalink: null,
};
/** The header, and the labels that every message has. */
const LABELS_MAX = 1_000 + THREAD_MAX_MESSAGES * 130;

describe("whatever a thread says", () => {
  it("the prompt stays bounded, holds the newest message, and every line of theirs is marked", () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 40 }),
        fc.option(message),
        (thread, picked) => {
          const { messages, leftOut } = newestOf(thread, ROOT);
          const quoted = picked === null ? null : { ...picked, channelId: "C1", threadTs: null };
          const context = { messages, leftOut, upTo: "1" };
          const request = { instructions: "Fix it", quoted, context, channelId: "C1" };
          const { prompt } = composePrompt(request, names);
          expect(prompt.length).toBeLessThan(QUOTED_MAX_CHARS + THREAD_MIN_CHARS + LABELS_MAX);

          const lines = prompt.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
          expect(lines.slice(0, 2)).toEqual(["Fix it", ""]);
          const start = lines.findIndex((line) => line.startsWith("Quoted messages of the thread"));
          const own = lines.slice(start + 1).filter((line) => !line.startsWith("> "));
          // A label for each message, which is ours, and nothing else.
          const shown = Number(/oldest first: (\d+)/.exec(lines[start] ?? "")?.[1]);
          const left = Number(/\((\d+) earlier/.exec(lines[start] ?? "")?.[1] ?? 0);
          expect(own).toHaveLength(shown);
          expect(shown + left).toBe(thread.length);
          for (const line of own) expect(line).toMatch(/, \d{4}-\d\d-\d\d \d\d:\d\d UTC:$/);

          const newest = messages.at(-1);
          const text = (newest?.segments ?? []).map((part) => ("text" in part ? part.text : "")).join("");
          const first = /\S{1,40}/u.exec(text.trimStart().slice(0, 40))?.[0];
          const ofNewest = lines.slice(lines.lastIndexOf(own.at(-1) ?? "") + 1).join("\n");
          if (first !== undefined && newest?.segments.every(({ kind }) => kind === "text"))
            expect(ofNewest).toContain(first);
        },
      ),
    );
  });
});
