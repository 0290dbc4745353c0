import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkStringify from "remark-stringify";
import { unified } from "unified";
import { printableText } from "../../base/printable-text.ts";

/** Invisible, and enough to keep a code host from recognizing a name or a number. */
export const BREAK = "\u200b";
/** A character written as its name or hexadecimal number. `inertWords` breaks decimal ones. */
const ENTITY = /&(?=#x[0-9a-f]|(?:commat|num|excl|sol);)/gi;
/** Includes what a code host takes for an address or the end of a link. */
const MARKDOWN = /[\\`*_[\]()|~]/g;
const ADDRESS = /(?<=:)(?=\/\/)|(?<=\bwww)(?=\.)/gi;
/** Anywhere in a commit's message, code hosts take it as an order to run no checks. */
const SKIPS_CHECKS = /\[(?=(?:(?:skip|no) ci|ci skip|skip actions|actions skip)\])/gi;
const REFERENCE_URL = /\/(?:issues|pull|pulls|discussions|merge_requests|commit)\\?\/(?=[0-9a-f])/gi;

/**
 * Makes text that mentions nobody, refers to nothing, closes nothing and skips nothing on a code
 * host, and still reads as before: `@name`, `#1`, `GH-1`, `[skip ci]` and links to issues lose
 * their meaning. For places that don't read HTML.
 */
export function inertWords(text: string): string {
  return withoutReferences(printableText(text)).replace(/@(?=[\w-])/g, `@${BREAK}`);
}

function withoutReferences(text: string): string {
  return text
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/\bgh\\?-(?=\d)/gi, `$&${BREAK}`)
    .replace(/!(?=\d)/g, `!${BREAK}`)
    .replace(SKIPS_CHECKS, `[${BREAK}`)
    .replace(REFERENCE_URL, `$&${BREAK}`);
}

/**
 * Like {@link inertWords}, for Markdown: `<` doesn't begin HTML, and `&commat;` doesn't stand for
 * `@`.
 */
export function inertText(text: string): string {
  return inertWords(text)
    .replace(/<(?=[a-z!/?])/gi, `<${BREAK}`)
    .replace(ENTITY, `&${BREAK}`);
}

/** A line with so many quotes, lists and footnotes in one another that it takes seconds to read. */
const NESTED = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t]|\[\^[^\]\s]{1,99}\]:)){50}/m;
/** Quotes, lists and emphasis in one another. Nobody writes so many. */
const MAX_DEPTH = 60;
/** A table of few characters can have thousands of empty cells. */
const MAX_GROWTH = 3;

const markdown = unified()
  .use(remarkParse)
  .use(remarkGfm, { tablePipeAlign: false })
  .use(remarkStringify, { bullet: "-", rule: "-", emphasis: "_", listItemIndent: "one" })
  .freeze();

/**
 * Like {@link inertText}, except in code, where a code host recognizes no names and no HTML. Issue
 * numbers lose their meaning in code, too, because the text may become a commit message, which has
 * no code.
 *
 * The text is written anew from what was read, so that all readers of Markdown agree where code
 * begins and ends, and nothing is left open. HTML becomes words. Null if the text is nested deeper
 * than anybody can follow.
 */
function inertMarkdown(text: string): string | null {
  const printable = printableText(text);
  if (NESTED.test(printable)) return null;
  const tree = markdown.parse(printable);
  if (!makeInert(tree, 0)) return null;
  const inert = withoutReferences(markdown.stringify(tree)).replaceAll("<!--", `<${BREAK}!--`).trimEnd();
  return inert.length > MAX_GROWTH * printable.length + 100 ? null : inert;
}

type Tree = ReturnType<typeof markdown.parse>;
type Parent = Tree | Extract<Tree["children"][number], { children: unknown }>;

/** Changes what is below a node. Returns false if it is nested too deep. */
function makeInert(parent: Parent, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  const children = parent.children as Tree["children"];
  for (const [at, node] of children.entries()) {
    if (node.type === "html") {
      const value = inertText(node.value.replaceAll(/\s*\n\s*/g, "\n"));
      const isBlock = BLOCKS.has(parent.type);
      children[at] = isBlock
        ? { type: "paragraph", children: [{ type: "text", value }] }
        : { type: "text", value };
    } else if (node.type === "text") node.value = inertText(node.value);
    else if ("children" in node && !makeInert(node, depth + 1)) return false;
  }
  return true;
}

/** What has paragraphs in it. */
const BLOCKS: ReadonlySet<string> = new Set(["root", "blockquote", "listItem", "footnoteDefinition"]);

/** Each line of the text as a Markdown quote, inert. */
export function quoted(text: string): string {
  return inertText(text)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/**
 * Makes somebody else's Markdown inert, with nothing left open that would swallow what follows. If
 * nobody can tell what is code in it, it is shown as it was written.
 */
export function closedMarkdown(text: string): string {
  return inertMarkdown(text) ?? plainMarkdown(text);
}

/**
 * Like {@link closedMarkdown}, for text that follows our own words in a line, where nothing is a
 * fence.
 */
export function markdownInLine(line: string): string {
  const before = "Words ";
  return inertMarkdown(before + line)?.slice(before.length) ?? plainMarkdown(line);
}

/**
 * Escapes any text so that Markdown shows it as it was written: without links, code or bold text.
 */
export function plainMarkdown(text: string): string {
  return inertText(text)
    .replaceAll(MARKDOWN, String.raw`\$&`)
    .replaceAll(ADDRESS, BREAK);
}

/** A file's name as Markdown code. */
export function fileName(path: string): string {
  return `\`${inertText(path).replaceAll(/[`\n\t]/g, "?")}\``;
}
