import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, excerpt, listed, plainLine, startOf } from "../../src/shared/text/text.ts";
import { text, wellFormed } from "../support/texts.ts";

const max = fc.nat(70);

describe("cutting", () => {
  it.each([
    ["hello", 5, "hello"],
    ["hello!", 5, "hell…"],
    ["abc😀d", 5, "abc…"],
    ["abc😀def", 6, "abc😀…"],
    ["😀😀", 1, "…"],
    ["hello", 0, ""],
  ])("%j to %i is %j", (given, most, expected) => {
    expect(cut(given, most)).toBe(expected);
  });

  it("never gives more than asked for, and never half a character", () => {
    fc.assert(
      fc.property(text, max, (given, most) => {
        const result = cut(given, most);
        expect(result.length).toBeLessThanOrEqual(most);
        expect(result.isWellFormed()).toBe(true);
      }),
    );
  });

  it("leaves text alone that fits, and otherwise keeps its beginning, all but the ellipsis", () => {
    fc.assert(
      fc.property(wellFormed, fc.integer({ min: 1, max: 70 }), (given, most) => {
        const result = cut(given, most);
        if (given.length <= most) {
          expect(result).toBe(given);
          return;
        }
        expect(result.endsWith("…")).toBe(true);
        expect(given.startsWith(result.slice(0, -1))).toBe(true);
        expect(result.length).toBeGreaterThanOrEqual(most - 1);
      }),
    );
  });
});

it.each([
  [[], undefined, ""],
  [["ana"], 1, "ana"],
  [["ana", "ben"], undefined, "ana and ben"],
  [["ana", "ben", "eva"], 3, "ana, ben and eva"],
  [["ana", "ben", "eva"], 2, "ana, ben and 1 more"],
  [["ana", "ben"], 1, "ana and 1 more"],
])("%j are listed, %s at most, as %j", (texts, most, expected) => {
  expect(listed(texts, most)).toBe(expected);
});

describe("the start of a text", () => {
  it.each([
    ["hello", 5, "hello"],
    ["hello!", 5, "hello"],
    ["abc😀", 4, "abc"],
    ["abc😀", 5, "abc😀"],
    ["😀", 1, ""],
    ["hello", 0, ""],
    ["hello", -1, ""],
  ])("of %j to %i is %j", (given, most, expected) => {
    expect(startOf(given, most)).toBe(expected);
  });

  it("is never more than asked for, and ends with a whole character", () => {
    fc.assert(
      fc.property(wellFormed, max, (given, most) => {
        const result = startOf(given, most);
        expect(result.length).toBeLessThanOrEqual(most);
        expect(given.startsWith(result)).toBe(true);
        expect(result.isWellFormed()).toBe(true);
        expect(result.length).toBeGreaterThanOrEqual(Math.min(given.length, most) - 1);
      }),
    );
  });
});

describe("a line", () => {
  it("has no breaks, no control characters and nothing that turns its direction", () => {
    expect(plainLine("  a\tb\r\nc\u0000\u001b\u2028d\u202Ee  ", 20)).toBe("a b c d e");
    expect(plainLine("abcdef", 4)).toBe("abc…");
    expect(plainLine(" \n\u200f ", 9)).toBe("");
  });
});

describe("an excerpt", () => {
  it.each([
    ["One. Two.", 20, 8, "One. Two."],
    ["One.\n\n\n  - Two  \r\n", 20, 8, "One.\n- Two"],
    ["First sentence. Second sentence.", 24, 8, "First sentence. …"],
    ["First line\nand the second one", 18, 8, "First line …"],
    ["No. Some words that have no end", 20, 8, "No. Some words …"],
    ["wordwithoutanyend", 8, 8, "wordwi …"],
    ["a\nb\nc\nd", 20, 3, "a\nb\nc …"],
    ["Done.\nLeft over:\n- a", 20, 2, "Done. …"],
    ["Some words.\nLeft over:\n- something long", 24, 8, "Some words. …"],
    ["Left over:\n- a", 20, 1, "Left over: …"],
    ["", 20, 3, ""],
  ])("of %j in %i characters and %i lines is %j", (given, most, lines, expected) => {
    expect(excerpt(given, most, lines)).toBe(expected);
  });

  it("is never longer than asked for, and never half a character", () => {
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 5, max: 70 }),
        fc.integer({ min: 1, max: 5 }),
        (given, most, lines) => {
          const result = excerpt(given, most, lines);
          expect(result.length).toBeLessThanOrEqual(most);
          expect(result.split("\n").length).toBeLessThanOrEqual(lines);
          expect(result.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});
