import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, startOf } from "../../src/core/text.ts";
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
      { numRuns: 2000 },
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
      { numRuns: 2000 },
    );
  });
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
      { numRuns: 2000 },
    );
  });
});
