import remarkGfm from "remark-gfm";
import remarkInlineLinks from "remark-inline-links";
import remarkParse from "remark-parse";
import remarkStringify from "remark-stringify";
import { unified } from "unified";
import { printableText } from "../../base/printable-text.ts";

/** Invisible, and enough to keep a code host from recognizing a name or a number. */
export const BREAK = "\u200b";
/** A letter or digit that a {@link BREAK} keeps from being recognized. */
const BROKEN = new RegExp(`${BREAK}(\\w)`, "g");
/**
 * A character written as its name or hexadecimal number: those that mean something, and the only
 * name for letters that a login may have. `inertWords` breaks decimal ones.
 */
const ENTITY = /&(?=#x[0-9a-f]|(?:commat|num|excl|sol|fjlig);)/gi;
/** Includes what a code host takes for an address or the end of a link. */
const MARKDOWN = /[\\`*_[\]()|~]/g;
const ADDRESS = /(?<=:)(?=\/\/)|(?<=\bwww)(?=\.)/gi;
/**
 * Anywhere in a commit's message, code hosts take it as an order to run no checks. Any white space
 * counts, because it may become a single space later.
 */
const SKIPS_CHECKS = /\[(?=\s*(?:(?:skip|no)\s+ci|ci\s+skip|skip\s+actions|actions\s+skip)\s*\])/gi;
const REFERENCE_URL =
  /\/(?:issues|pulls?|discussions|merge_requests|commit)\\?\/(?=(?:\d+|[0-9a-f]{7,})(?![a-z0-9]))/gi;

/**
 * Makes text that mentions nobody, refers to nothing, closes nothing and skips nothing on a code
 * host, and still reads as before: `@name`, `#1`, `GH-1`, `[skip ci]` and links to issues lose
 * their meaning. For places that don't read HTML.
 */
export function inertWords(text: string): string {
  return printableText(text)
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/(?<![a-z0-9])gh\\?-(?=\d)/gi, `$&${BREAK}`)
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

const NESTED = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t]|\[\^(?:\\.|[^\]\\\s]){1,99}\]:)){50}/m;
/** Images in one another take as long. */
const MAX_IMAGES = 50;
/** So many marks of emphasis take seconds to pair. */
const MAX_EMPHASIS = 1000;
/** Quotes, lists and emphasis in one another. Nobody writes so many. */
const MAX_DEPTH = 60;
/** A table of few characters can have thousands of empty cells. */
const MAX_GROWTH = 3;

const markdown = unified()
  .use(remarkParse)
  .use(remarkGfm, { tablePipeAlign: false })
  .use(remarkInlineLinks)
  .use(remarkStringify, { bullet: "-", rule: "-", emphasis: "_", listItemIndent: "one", resourceLink: true })
  .freeze();

/**
 * Like {@link inertText}, for whole Markdown, with nothing left open. Code is made inert as well:
 * readers of Markdown disagree about where it begins and ends, and a commit message has none.
 *
 * The text is written anew from what was read. HTML becomes words, and so does an image that isn't
 * in the repository, because whoever serves it would learn who reads the text. Each link gets its
 * own URL and footnotes become quotes, because a definition would hold for the text around this
 * one, too. Null if the text is nested deeper, has more emphasis or images, or grows longer than
 * anybody can follow.
 */
function inertMarkdown(text: string): string | null {
  const printable = printableText(text);
  if (isNestedTooDeep(printable) || printable.split("![").length - 1 > MAX_IMAGES) return null;
  if (printable.replaceAll(/[^*_~]/g, "").length > MAX_EMPHASIS) return null;
  try {
    const tree = markdown.parse(printable);
    markdown.runSync(tree);
    const room = { urls: MAX_GROWTH * printable.length };
    if (!makeInert(tree, 0, room)) return null;
    // A link's brackets make an order of its words.
    const inert = markdown.stringify(tree).trimEnd().replace(SKIPS_CHECKS, `[${BREAK}`);
    return inert.length > MAX_GROWTH * printable.length + 100 ? null : inert;
  } catch (error) {
    // Nested deeper than the stack is, in a way that was not foreseen above.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** True if so many quotes, lists and footnotes are in one another that it takes seconds to read. */
export function isNestedTooDeep(text: string): boolean {
  return NESTED.test(text);
}

type Tree = ReturnType<typeof markdown.parse>;
type Node = Tree["children"][number];
type Parent = Tree | Extract<Node, { children: unknown }>;

/**
 * Changes what is below a node. Returns false if it is nested too deep, or if its URLs are longer
 * than `room.urls`: each of a thousand links may have been given the same long one.
 */
function makeInert(parent: Parent, depth: number, room: { urls: number }): boolean {
  if (depth > MAX_DEPTH) return false;
  const children = parent.children as Node[];
  for (const [at, read] of children.entries()) {
    if ("url" in read) room.urls -= read.url.length + (read.title?.length ?? 0);
    if (room.urls < 0) return false;
    const node = inertNode(read, BLOCKS.has(parent.type));
    children[at] = node;
    if ("children" in node && !makeInert(node, depth + 1, room)) return false;
  }
  return true;
}

/** The node with its own text inert, not that of its children. */
function inertNode(node: Node, isBlock: boolean): Node {
  switch (node.type) {
    case "html": {
      const value = inertText(node.value.replaceAll(/\s*\n\s*/g, "\n"));
      return isBlock ? { type: "paragraph", children: [{ type: "text", value }] } : { type: "text", value };
    }
    case "text":
      // Without it, the marks on both sides of an empty text would become one.
      return { ...node, value: inertText(node.value) || BREAK };
    case "inlineCode":
      // At the start of a line, its second line could become a fence.
      return { ...node, value: inLine(node.value) };
    case "code":
      return { ...node, lang: shownLanguage(node.lang), meta: null, value: inertText(node.value) };
    case "list":
      // A number of ten digits begins no list.
      return node.start ? { ...node, start: Math.min(node.start, 100_000_000) } : node;
    case "link":
      return { ...node, url: inertUrl(node.url), title: node.title && inLine(node.title) };
    case "image": {
      const url = inertUrl(node.url);
      if (!isInRepository(url)) return wordsOf(node);
      const title = node.title && inLine(node.title);
      return { ...node, url, title, alt: node.alt && inLine(node.alt) };
    }
    // The words of a link may have some left.
    case "imageReference":
      return wordsOf(node);
    case "footnoteReference":
      return { type: "text", value: inLine(`[${node.label ?? node.identifier}]`) };
    case "footnoteDefinition":
      return { type: "blockquote", children: node.children };
    default:
      return node;
  }
}

function wordsOf({ alt }: { alt?: string | null | undefined }): Node {
  return { type: "text", value: inLine(alt ?? "") || BREAK };
}

/** A code host draws these instead of showing them, and a drawing can have images. */
const DRAWN = /^(?:mermaid|math|geojson|topojson|stl)\b/i;

function shownLanguage(language: string | null | undefined): string | null {
  return language === null || language === undefined || DRAWN.test(language) ? null : inLine(language);
}

/** A page of a code host, of a repository whose name nobody can write. */
const PAGE = new URL("https://code-host.invalid/o/-/pull/1");
const REPOSITORY = new URL("..", PAGE).href;

/** True if the URL is a path within the repository, wherever the text is shown. */
function isInRepository(url: string): boolean {
  if (/^(?:[a-z][a-z\d+.-]*:|[\\/])|%(?:2f|5c)/i.test(url)) return false;
  return URL.parse(url, PAGE.href)?.href.startsWith(REPOSITORY) === true;
}

function inLine(text: string): string {
  return inertText(text).replaceAll(/\s+/g, " ");
}

/**
 * What is broken elsewhere is percent-encoded in a URL, which leads to the same place, unless it
 * names a user (`https://name@host`).
 */
function inertUrl(url: string): string {
  const encoded = url.replaceAll(/[\0- \u007f\u200b@<>\\]/g, encodeURIComponent);
  return inertWords(encoded).replaceAll(BROKEN, (_, next: string) => `%${next.charCodeAt(0).toString(16)}`);
}

/** What has paragraphs in it. */
const BLOCKS: ReadonlySet<string> = new Set(["root", "blockquote", "listItem"]);

/** Each line as a Markdown quote, inert, and without definitions of links and images. */
export function quoted(text: string): string {
  return inertText(text)
    .replaceAll("]:", `]${BREAK}:`)
    .replaceAll("![", `!${BREAK}[`)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/**
 * Makes somebody else's Markdown inert, with nothing left open that would swallow what follows. If
 * it is nested too deep, has too much emphasis or too many images, or grows too long, it is shown
 * as it was written.
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
  const inert = inertMarkdown(before + line.replaceAll(/\s+/g, " "));
  return inert?.startsWith(before) ? inert.slice(before.length) : plainMarkdown(line);
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
