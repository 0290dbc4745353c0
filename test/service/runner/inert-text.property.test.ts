import fc from "fast-check";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { expect, it } from "vitest";
import { markdownHtml } from "../../../world/code-host/pages/markdown.ts";
import { closedMarkdown, markdownInLine, quoted } from "../../../src/service/runner/publish/inert-text.ts";

const reader = unified().use(remarkParse).use(remarkGfm);

/** Live wherever they stand, because a code host may see no code where our reader sees some. */
const LIVE = /<[a-z!/?].{0,20}|@[a-z\d][\w-]*|#\d+|\bgh-\d|!\d|\[skip ci\]/gi;

const BELOW = { type: "paragraph", children: [{ type: "text", value: "Below" }] };

/** What of a text reaches others: what is live in it, its definitions, and what stands below it. */
function reachOf(markdown: string) {
  const tree = reader.parse(`${markdown}\n\nBelow`);
  const live = markdown.match(LIVE) ?? [];
  return {
    live,
    definitions: JSON.stringify(tree).match(/"\w*definition"/gi) ?? [],
    below: tree.children.at(-1),
  };
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
  "[details](mailto:details) [/details](mailto:/details)",
  "[x\\`y](mailto:x`y) `<details>@octocat`",
  "`a`&#x202e;``b`<details>@octocat``",
  "see www._`<details>@octocat` x",
  "[x <x@y.co>](/a`b) `<details>@octocat`",
  '[x](</a`b> "\\\\") "`<details>@octocat`',
  "999999999. a\n1. ```\n\n   <details>@octocat\n   ```",
  String.raw`[^a\]b <details>]` + "\n\n" + String.raw`[^a\]b <details>]: x`,
];
const PARTS = [
  ..."`~<>*_[]()|\\!&;#-+: \n\t".split(""),
  "\n\n",
  "\n    ",
  "| a |\n|---|\n",
  "\n[x]: /y '",
  "@",
  "[skip ci]",
  "skip ci",
  ...`gh- 1 &fjlig; \`\`\` ~~~ <div> </div> <!-- --> <![CDATA[ <pre> <a\ttitle="\` "> <https://a.b/ <details> <? @octocat
    &commat;octocat - > 1. [^a]: word`.split(/ +|\n/),
];

it.each(MOVED)("leaves no HTML, name or definition in %j, and what follows stands", (text) => {
  expect(reachOf(closedMarkdown(text))).toMatchObject({ live: [], definitions: [], below: BELOW });
  expect(`Words ${markdownInLine(text.replaceAll("\n", " "))}`).not.toMatch(LIVE);
});

/** Code to some readers of Markdown, and a table or a list to GitHub's. */
it.each([
  ["|a|\n|-|\n|\n\tcode", "| a |\n| - |\n| |\n\n```\ncode\n```"],
  ["a\n    b | c\n-|-\n`x | code`", "a\nb | c\n\\-|-\n`x | code`"],
  ["x\n\n    y\n-\n  ~~~\n  code", "x\n\n```\ny\n```\n\n\\-\n\n```\ncode\n```"],
  ["[^a `code`]", "\\[^a `code`]"],
  // Links stand in their place.
  // What is in the repository may be shown.
  ["[a][b] ![c][b]\n\n[b]: d 'e'", '[a](d "e") ![c](d "e")'],
  ["See [^1].\n\n[^1]: The *page*.", "See \\[1].\n\n> The _page_."],
  // They lead where they led.
  ["[a](guide.md#1-install)", "[a](guide.md#%31-install)"],
  ["[a](https://h/o/r/issues/7)", "[a](https://h/o/r/issues/%37)"],
  ["[a](/issues/debugging.md)", "[a](/issues/debugging.md)"],
  ["[a](@octocat)", "[a](%40octocat)"],
  ["[a](/x?a=1&b;c&amp;copy;)", String.raw`[a](/x?a=1\&b;c\&copy;)`],
  ["[a](https://x/\u200b日本)", "[a](https://x/%E2%80%8B日本)"],
  // No fence begins here.
  ["~~&#x202e;~a~ x~~", "~~\u200b~a~ x~~"],
  ["a ``` b `` ` c\n    ``` d", "a ```b `` ` c ``` d"],
  ["999999999. a\n1. b", "100000000. a\n100000001. b"],
])("writes %j anew, so that it is the same to all readers", (text, written) => {
  expect(closedMarkdown(text)).toBe(written);
});

it("leaves no HTML, name or definition in any Markdown, and what follows stands", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { maxLength: 40 }), (parts) => {
      const text = parts.join("");
      const { live, definitions, below } = reachOf(closedMarkdown(text));
      expect({ live, definitions }).toEqual({ live: [], definitions: [] });
      expect(JSON.stringify(below)).toContain('"Below"');
      expect(`Words ${markdownInLine(text.replaceAll("\n", " "))}`).not.toMatch(LIVE);
    }),
    { numRuns: 1000 },
  );
});

/** The addresses of other hosts that load where the code host draws this. */
function loadedBy(markdown: string): string[] {
  const page = "https://code.example/acme/docs/pull/1";
  const html = markdownHtml(`${markdown}\n\n[x]: https://tracker.example/below.png`);
  const tags = html.match(/<[a-z][^\s>]*(?:\s+[a-z-]+(?:="[^"]*")?)*/gi) ?? [];
  const loading = tags.flatMap((tag) => [...tag.matchAll(/\s(?:src\w*|poster|background|data)="([^"]*)"/gi)]);
  const addresses = loading.map(([, address = ""]) => new URL(address, page).href);
  return addresses.filter((address) => !address.startsWith("https://code.example/"));
}

it.each([
  ["![A chart](https://tracker.example/a.png 'T')", "A chart"],
  ["![A chart][c]\n\n[c]: //tracker.example/a.png", "A chart"],
  ["[![A chart][c]][c]\n\n[c]: https://tracker.example/a.png", "[A chart](https://tracker.example/a.png)"],
  ["[![A chart][x]][c]\n\n[c]: /a", String.raw`[!\[A chart\]\[x\]](/a)`],
  ["![A *chart*](/\t/tracker.example/a.png)", "!\\[A _chart_]\\(/\t/tracker.example/a.png)"],
  ["![a](///tracker.example/a.png) b", "a b"],
  ["![a](https:a.png) b", "a b"],
  ["![a](data:image/png;base64,AAAA) b", "a b"],
  ["![](https://tracker.example/a.png)", "\u200b"],
  ["![A chart](/evil/pixel/raw/main/a.png)", "A chart"],
  ["![A chart](../../../evil/pixel/raw/main/a.png)", "A chart"],
  ["![A chart](../%2e%2e/%2E./evil/pixel/a.png)", "A chart"],
  ["![A chart](a/..%2f..%2f..%2f..%2fevil/a.png)", "A chart"],
  ["![A chart](images/chart.png)", "![A chart](images/chart.png)"],
  ["![A chart](../blob/main/chart.png?raw=true)", "![A chart](../blob/main/chart.png?raw=true)"],
  ["```mermaid\ngraph\n```", "```\ngraph\n```"],
])("shows %j without loading anything from elsewhere", (text, written) => {
  expect(closedMarkdown(text)).toBe(written);
  expect(loadedBy(written)).toEqual([]);
});

const IMAGES = [
  ..."![](<>)\\'\"&/:".split(""),
  "\n\n",
  "\t",
  "![a](",
  "![a][x]",
  "![x]",
  "![x][]",
  "[x]: ",
  "]: ",
  "https://tracker.example/a.png",
  "//tracker.example/a.png",
  "/\\tracker.example/a.png",
  "&#x2f;/tracker.example",
  "https:",
  "data:image/png,",
  "images/a.png",
  '<img src="https://tracker.example/a.png">',
  '<picture><source srcset="https://tracker.example/a.png">',
  '<video poster="//tracker.example/a.png">',
  '<table background="https://tracker.example/a.png">',
  "`",
  "```\n",
  "> ",
  "- ",
  "|",
  "| a |\n|---|\n",
  "[^a]",
  "word ",
];

it("loads nothing from elsewhere, whatever the Markdown", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...IMAGES), { maxLength: 30 }), (parts) => {
      const text = parts.join("");
      const shown = [closedMarkdown(text), `Words! ${markdownInLine(text)}`, quoted(text)];
      expect(shown.map(loadedBy)).toEqual([[], [], []]);
    }),
    { numRuns: 300 },
  );
});
