import fc from "fast-check";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { expect, it } from "vitest";
import { closedMarkdown, markdownInLine } from "../../../service/runner/publish/inert-text.ts";

const reader = unified().use(remarkParse).use(remarkGfm);
type Node = ReturnType<typeof reader.parse> | ReturnType<typeof reader.parse>["children"][number];

/** What a code host would make of Markdown, as far as it concerns others: HTML, names and the last paragraph. */
function readAsHost(markdown: string) {
  const html: string[] = [];
  const words: string[] = [];
  function walk(node: Node): void {
    if (node.type === "html") html.push(node.value);
    else if (node.type === "text") words.push(node.value);
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
