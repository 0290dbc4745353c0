import fc from "fast-check";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { expect, it } from "vitest";
import { closedMarkdown, markdownInLine } from "../../../service/runner/publish/inert-text.ts";

const reader = unified().use(remarkParse).use(remarkGfm);
type Node = ReturnType<typeof reader.parse> | ReturnType<typeof reader.parse>["children"][number];

/**
 * What a code host would make of Markdown, as far as it concerns others: HTML and what leaks out of
 * it, names, and the last paragraph.
 */
function readAsHost(markdown: string) {
  const html: string[] = [];
  const words: string[] = [];
  function walk(node: Node): void {
    if (node.type === "html" || node.type.includes("Definition") || node.type === "definition") {
      html.push(JSON.stringify(node));
    } else if (node.type === "text") words.push(node.value);
    else if ("url" in node) {
      // Readers disagree about what ends a link. None of it may mean anything outside of one.
      for (const part of [node.url, node.title, "alt" in node ? node.alt : null]) {
        if (/<[a-z!/?]|\n|@octocat|#\d/i.test(part ?? "")) html.push(part ?? "");
      }
    }
    if ("children" in node) for (const child of node.children) walk(child);
  }
  const tree = reader.parse(markdown);
  walk(tree);
  return { html, mentions: words.filter((text) => /@octocat/.test(text)), last: tree.children.at(-1) };
}

/** From an attack: breaking the HTML moves where code begins. */
const MOVED = [
  "<div>\n```\nfoo\n\nx\n```\n<![CDATA[\n```",
  "<div>\n```\nfoo\n\nx\n```\n<pre>\n```",
  'See <a title="`"> `@octocat <details> <img src="https://evil.example/x.png">` end',
  "<!x `> `@octocat ` `",
  "See <https://a.b/`> `@octocat <details>` end.",
  // Live in cmark-gfm if written as they were read.
  String.raw`[a](\<details>@octocat)`,
  "[a](b '&#10;&#10;<details>&#10;&#10;@octocat')",
  "![&lt;details&gt; &commat;octocat](/a '&lt;b&gt;')",
  `[${"é".repeat(600)}]\n\n[${"é".repeat(600)}]: /u '<details>'`,
  "[guide] [^1]\n\n[guide]: https://evil.example\n[^1]: Not ours",
  String.raw`[^a\]b <details>]` + "\n\n" + String.raw`[^a\]b <details>]: x`,
];
const PARTS = [
  ..."`~<>*_[]()|\\!&;#-+: \n\t".split(""),
  "\n\n",
  "\n    ",
  "| a |\n|---|\n",
  "\n[x]: /y '",
  ...`\`\`\` ~~~ <div> </div> <!-- --> <![CDATA[ <pre> <a\ttitle="\` "> <https://a.b/ <details> <? @octocat
    &commat;octocat - > 1. [^a]: word`.split(/ +|\n/),
];

it.each(MOVED)("leaves no HTML and no name in %j, and what follows stands", (text) => {
  expect(readAsHost(`${closedMarkdown(text)}\n\nBelow`)).toMatchObject({
    html: [],
    mentions: [],
    last: { type: "paragraph", children: [{ type: "text", value: "Below" }] },
  });
  expect(readAsHost(`Words ${markdownInLine(text.replaceAll("\n", " "))}`)).toMatchObject({
    html: [],
    mentions: [],
  });
});

/** Code to some readers of Markdown, and a table or a list to GitHub's. */
it.each([
  ["|a|\n|-|\n|\n\t<details>@octocat", "| a |\n| - |\n| |\n\n```\n<details>@octocat\n```"],
  ["a\n    b | c\n-|-\n`x | <details>@octocat`", "a\nb | c\n\\-|-\n`x | <details>@octocat`"],
  ["x\n\n    y\n-\n  ~~~\n  @octocat", "x\n\n```\ny\n```\n\n\\-\n\n```\n@octocat\n```"],
  ["[^a `@octocat`]", "\\[^a `@octocat`]"],
  // Links stand in their place.
  ["[a][b] ![c][b]\n\n[b]: /d 'e'", '[a](/d "e") ![c](/d "e")'],
  ["See [^1].\n\n[^1]: The *page*.", "See \\[1].\n\n> The _page_."],
  // They lead where they led.
  ["[a](guide.md#1-install)", "[a](guide.md#%31-install)"],
  ["[a](https://h/o/r/issues/7)", "[a](https://h/o/r/issues/%37)"],
  ["[a](/issues/debugging.md)", "[a](/issues/debugging.md)"],
  ["[a](@octocat)", "[a](@%6fctocat)"],
])("writes %j anew, so that it is the same to all readers", (text, written) => {
  expect(closedMarkdown(text)).toBe(written);
});

it("leaves no HTML and no name in any Markdown, and what follows stands", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { maxLength: 40 }), (parts) => {
      const text = parts.join("");
      const { html, mentions, last } = readAsHost(`${closedMarkdown(text)}\n\nBelow`);
      expect({ html, mentions }).toEqual({ html: [], mentions: [] });
      expect(JSON.stringify(last)).toContain('"Below"');
      const line = readAsHost(`Words ${markdownInLine(text.replaceAll("\n", " "))}`);
      expect(line).toMatchObject({ html: [], mentions: [] });
    }),
    { numRuns: 1000 },
  );
});
