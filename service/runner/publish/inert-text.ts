import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
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
/** The second look usually finds nothing more. */
const MAX_LOOKS = 4;
const BELOW = "\n\nend";

const reader = unified().use(remarkParse).use(remarkGfm).freeze();

/**
 * Like {@link inertText}, except in code, where a code host recognizes no names and no HTML, and
 * with the fence that the text leaves open. Issue numbers lose their meaning in code, too, because
 * the text may become a commit message, which has no code.
 *
 * Breaking HTML can begin or end code elsewhere, so the result is looked at again until it stays as
 * it is. Null if it doesn't, or if it is nested deeper than anybody can follow.
 */
function inertMarkdown(text: string): { inert: string; fence: string | null } | null {
  let inert = printableText(text);
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    if (NESTED.test(inert)) return null;
    const before = inert;
    const tree = reader.parse(before + BELOW);
    inert = "";
    let at = 0;
    for (const [from, to] of codeIn(tree)) {
      inert += inertText(before.slice(at, from)) + inertCode(before.slice(from, to));
      at = to;
    }
    inert += inertText(before.slice(at));
    if (inert === before) return { inert, fence: openFence(tree, before) };
  }
  return null;
}

/** A fence in a list or a quote ends with that. */
function openFence({ children }: MarkdownTree, text: string): string | null {
  const last = children.at(-1);
  if (last?.type !== "code") return null;
  return /^ *(`{3,}|~{3,})/.exec(text.slice(last.position?.start.offset))?.[1] ?? null;
}

/** It isn't taken for one of our marks, either. */
function inertCode(code: string): string {
  return withoutReferences(code).replaceAll("<!--", `<${BREAK}!--`);
}

type MarkdownTree = ReturnType<typeof reader.parse>;

/** The positions of code, in order. */
function codeIn(node: MarkdownTree | MarkdownTree["children"][number]): [from: number, to: number][] {
  if (node.type === "code" || node.type === "inlineCode") {
    const { start, end } = node.position ?? {};
    return start?.offset === undefined || end?.offset === undefined ? [] : [[start.offset, end.offset]];
  }
  return "children" in node ? node.children.flatMap(codeIn) : [];
}

/** Each line of the text as a Markdown quote, inert. */
export function quoted(text: string): string {
  return inertText(text)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/**
 * Makes somebody else's Markdown inert, and closes a fence that it leaves open, which would swallow
 * what follows. If nobody can tell what is code in it, it is shown as it was written.
 */
export function closedMarkdown(text: string): string {
  const { inert, fence } = inertMarkdown(text) ?? { inert: plainMarkdown(text), fence: null };
  return fence === null ? inert : `${inert}\n${fence}`;
}

/**
 * Like {@link closedMarkdown}, for text that follows our own words in a line, where nothing is a
 * fence.
 */
export function markdownInLine(line: string): string {
  const before = "Words ";
  return inertMarkdown(before + line)?.inert.slice(before.length) ?? plainMarkdown(line);
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
