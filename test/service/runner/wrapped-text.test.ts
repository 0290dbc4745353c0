import fc from "fast-check";
import { expect, it } from "vitest";
import { wrappedText } from "../../../src/service/runner/publish/wrapped-text.ts";

const LONG = "words that say a lot more about the page than anybody would ever have wanted to read there";
const URL = `https://docs.example.com/${"guide/".repeat(12)}install`;

it("wraps what is too long, below its first word, and leaves code and addresses as they are", () => {
  const text = `Short.
> Somebody said ${LONG}

${LONG}
- a list's item, then ${LONG}
  1. one more, with
     ${LONG}

         code in a list ${LONG}

    an item's second paragraph ${LONG}

Text again
    that isn't code ${LONG}

    code ${LONG}

\`\`\`sh
${LONG}
\`\`\`
See ${URL} for more, then read on about all of the other things`;
  expect(wrappedText(text)).toBe(`Short.
> Somebody said words that say a lot more about the page than anybody
> would ever have wanted to read there

words that say a lot more about the page than anybody would ever have
wanted to read there
- a list's item, then words that say a lot more about the page than
  anybody would ever have wanted to read there
  1. one more, with
     words that say a lot more about the page than anybody would ever
     have wanted to read there

         code in a list ${LONG}

    an item's second paragraph words that say a lot more about the page
    than anybody would ever have wanted to read there

Text again
    that isn't code words that say a lot more about the page than
    anybody would ever have wanted to read there

    code ${LONG}

\`\`\`sh
${LONG}
\`\`\`
See
${URL}
for more, then read on about all of the other things`);
});

it("keeps each word, and has no line that could be shorter", () => {
  const word = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "é", "(", "."), minLength: 1, maxLength: 30 }),
    fc.constantFrom("-", "#", "1.", ">", "|", "---", "`x`", URL),
  );
  const line = fc
    .tuple(fc.constantFrom("", "- ", "  - ", "1. ", "> ", "    "), fc.array(word, { maxLength: 30 }))
    .map(([start, words]) => start + words.join(" "));
  const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, (given) => {
      const lines = wrappedText(given).split("\n");
      // A quote's mark is repeated.
      const wordsOf = (some: string) => some.replaceAll(">", "").trim().split(/\s+/);
      expect(wordsOf(lines.join("\n"))).toEqual(wordsOf(given));
      const long = lines.filter((each) => each.length > 72 && !given.split("\n").includes(each));
      expect(long.filter((each) => !each.includes(URL))).toEqual([]);
    }),
  );
});
