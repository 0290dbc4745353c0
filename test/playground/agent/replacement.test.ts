import fc from "fast-check";
import { expect, it } from "vitest";
import { replaceLiterally } from "../../../playground/agent/replacement.ts";

const replace = (text: string, from: string, to: string) => replaceLiterally(text, false, { from, to }).text;

it.each([
  ["TidePool, TidePools, xTidePool", "TidePool", "Tidepool", "Tidepool, TidePools, xTidePool"],
  ["Run `npm i x`.\n\n```\nnpm i x\n```\n", "npm i x", "npm i y", "Run `npm i y`.\n\n```\nnpm i y\n```\n"],
  ["a.c abc", "a.c", "$&", "$& abc"],
  ["C++ and C", "C++", "Rust", "Rust and C"],
  [
    "[TidePool](docs/TidePool.md) https://x.example/TidePool",
    "TidePool",
    "Tidepool",
    "[Tidepool](docs/TidePool.md) https://x.example/TidePool",
  ],
  ["See https://old.example/a", "https://old.example", "https://new.example", "See https://new.example/a"],
  ["---\ntitle: title of title\n---\ntitle", "title", "name", "---\ntitle: name of name\n---\nname"],
  ["the CLI, the Tidepool CLI", "CLI", "Tidepool CLI", "the Tidepool CLI, the Tidepool CLI"],
  ["caffè caff", "caff", "tea", "caffè tea"],
])("in %j, %j becomes %j", (text, from, to, expected) => {
  expect(replace(text, from, to)).toBe(expected);
});

it("is done after the first time", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", " ", ".", "\n", "`", "[", "](") });
  fc.assert(
    // The new text shares no character with the old one, so that it cannot bring it about again, not even at a seam;
    // nor is the old one a mark that says where code is.
    fc.property(letters, letters, fc.constantFrom("x", "xy", "x-y"), (text, from, to) => {
      fc.pre(from.trim() === from && from !== "" && !/[[\]()`]/.test(from));
      const once = replace(text, from, to);
      expect(replace(once, from, to)).toBe(once);
    }),
  );
});
