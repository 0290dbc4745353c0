import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalWords } from "../../../src/app/rules/thread/same-request.ts";

const letters = fc.stringMatching(/^[a-zäéж0-9]{1,8}$/);
const sentence = fc.array(letters, { minLength: 1, maxLength: 8 });
const between = fc.constantFrom(" ", "  ", ", ", "\n", "\u00a0", " – ", "` `", "! ");

describe("the normal form of words", () => {
  it("is its own normal form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const normal = normalWords(text);
        expect(normalWords(normal)).toBe(normal);
      }),
    );
  });

  it("doesn't depend on case, spaces, punctuation, or our name before the words", () => {
    fc.assert(
      fc.property(
        sentence,
        between,
        fc.constantFrom("", "@docs-agent ", "Docs Agent: "),
        fc.boolean(),
        (words, gap, name, isLoud) => {
          const text = words.join(gap);
          const typed = `${name}${isLoud ? text.toUpperCase() : text}.`;
          expect(normalWords(typed)).toBe(words.join(" "));
        },
      ),
    );
  });

  it("keeps what makes other words", () => {
    fc.assert(
      fc.property(sentence, sentence, (some, others) => {
        expect(normalWords(some.join(" ")) === normalWords(others.join(" "))).toBe(
          some.join(" ") === others.join(" "),
        );
      }),
    );
  });

  it.each([
    ["Use C++", "use c++"],
    ["v1.2", "v1 2"],
    ["“Install”…", "install"],
    ["fix docs-agent's page", "fix docs agent s page"],
    ["…", ""],
    ["ﬁx", "fix"],
  ])("%s is %s", (text, normal) => {
    expect(normalWords(text)).toBe(normal);
  });
});
