import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutEscaped, decodeEntities, escapeMrkdwn } from "../../../src/app/messages/mrkdwn.ts";
import { text, wellFormed } from "../../support/texts.ts";

const max = fc.nat(70);

describe("escaping", () => {
  it.each([
    ["<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"],
    ["&lt;", "&amp;lt;"],
    ["*bold* `code` ~gone~", "*bold* `code` ~gone~"],
    ["", ""],
  ])("makes %j inert: %j", (given, escaped) => {
    expect(escapeMrkdwn(given)).toBe(escaped);
  });

  it("leaves no angle bracket and no ampersand of its own, and reads as what was given", () => {
    fc.assert(
      fc.property(text, (given) => {
        const escaped = escapeMrkdwn(given);
        expect(escaped).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
        expect(decodeEntities(escaped)).toBe(given);
      }),
    );
  });
});

describe("cutting and escaping", () => {
  it.each([
    ["a & b", 9, "a &amp; b"],
    ["a & b", 8, "a &amp;…"],
    ["a & b", 7, "a …"],
    ["&&", 4, "…"],
    ["<", 1, "…"],
    ["😀<", 4, "😀…"],
    ["<", 0, ""],
  ])("%j to %i is %j", (given, most, expected) => {
    expect(cutEscaped(given, most)).toBe(expected);
  });

  it("never gives more than asked for, no cut entity and no half character", () => {
    fc.assert(
      fc.property(text, max, (given, most) => {
        const result = cutEscaped(given, most);
        expect(result.length).toBeLessThanOrEqual(most);
        expect(result.isWellFormed()).toBe(true);
        expect(result).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
      }),
    );
  });

  it("reads as the beginning of what was given, as much of it as there is room for", () => {
    fc.assert(
      fc.property(wellFormed, fc.integer({ min: 1, max: 70 }), (given, most) => {
        const result = cutEscaped(given, most);
        if (escapeMrkdwn(given).length <= most) {
          expect(decodeEntities(result)).toBe(given);
          return;
        }
        expect(given.startsWith(decodeEntities(result.slice(0, -1)))).toBe(true);
        // The next character, at most five units when escaped, had no room beside the ellipsis.
        expect(result.length).toBeGreaterThan(most - 5);
      }),
    );
  });
});
