import { isUtf8 } from "node:buffer";
import { rstSamples, rstTitles } from "./rst.ts";
import { tagsIn, type Tag } from "./tags.ts";
import { type Part, partsOf } from "./tokens.ts";

/** How a page is written, by its name's ending. */
export type PageMarkup = "markdown" | "mdx" | "rst" | "asciidoc" | "other";

/** A stretch of a page. `from` and `to` are offsets. */
export type Stretch = { from: number; to: number };

/** A paragraph, heading, sample, table and the like. `depth` is a heading's, otherwise 0. */
export type Block = Stretch & { kind: BlockKind; depth: number };
export type BlockKind = "paragraph" | "heading" | "code" | "html" | "table" | "break";

/** A page as the rules see it. */
export type DocPage = {
  path: string;
  markup: PageMarkup;
  isUtf8: boolean;
  hasMark: boolean;
  /** Without a byte order mark. */
  text: string;
  lines: readonly string[];
  /** The offset of each line. */
  starts: readonly number[];
  /** Front matter, with its marks. Null if there is none. */
  matter: Stretch | null;
  blocks: readonly Block[];
  parts: readonly Part[];
  tags: readonly Tag[];
  comments: readonly Stretch[];
  /** The text with blanks in place of code, comments and front matter. */
  prose: string;
  /**
   * The text with blanks in place of all that isn't plain words: marks, addresses, tags. Code
   * inside a line stands as {@link CODE}. What the parser left over as words is there.
   */
  plain: string;
  fault: { at: number; reason: string } | null;
};

/** Stands for a character of code in a line. */
export const CODE = "\uE000";

const MARKUPS: Readonly<Record<string, PageMarkup>> = {
  md: "markdown",
  markdown: "markdown",
  qmd: "markdown",
  rmd: "markdown",
  mdoc: "markdown",
  mdx: "mdx",
  rst: "rst",
  adoc: "asciidoc",
  asciidoc: "asciidoc",
};
/** A longer page is read line by line alone. */
const MAX_PARSED_CHARS = 500_000;
const BLOCKS: Readonly<Record<string, BlockKind>> = {
  paragraph: "paragraph",
  atxHeading: "heading",
  setextHeading: "heading",
  codeFenced: "code",
  codeIndented: "code",
  htmlFlow: "html",
  mdxJsxFlowTag: "html",
  mdxFlowExpression: "html",
  mdxjsEsm: "code",
  table: "table",
  thematicBreak: "break",
  definition: "break",
  gfmFootnoteDefinition: "break",
};
const CODE_PARTS = new Set(["codeFenced", "codeIndented", "mdxjsEsm"]);
const INLINE_CODE = new Set(["codeText", "mdxTextExpression"]);
const HTML_PARTS = new Set(["htmlFlow", "htmlText", "mdxJsxFlowTag", "mdxJsxTextTag"]);
const EXPRESSIONS = new Set(["mdxFlowExpression", "mdxTextExpression"]);
const MATTER =
  /^(?:---[ \t]*\r?\n(?:[^]*?\r?\n)?---|\+\+\+[ \t]*\r?\n(?:[^]*?\r?\n)?\+\+\+)[ \t]*(?=\r?\n|$)/;

/** Reads a page. Null if it is data, and no text. */
export function readPage(path: string, bytes: Uint8Array): DocPage | null {
  const markup = MARKUPS[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""] ?? "other";
  const decoded = Buffer.from(bytes).toString("utf8");
  if (markup === "other" && decoded.includes("\0")) return null;
  const hasMark = decoded.startsWith("\uFEFF");
  const text = hasMark ? decoded.slice(1) : decoded;
  const lines = text.split(/\r?\n/);
  const starts: number[] = [];
  for (let at = 0, nth = 0; nth < lines.length; nth += 1) {
    starts.push(at);
    at = text.indexOf("\n", at) + 1 || text.length;
  }
  const matterEnd = MATTER.exec(text)?.[0].length ?? 0;
  const matter = matterEnd > 0 ? { from: 0, to: matterEnd } : null;
  const page = { path, markup, isUtf8: isUtf8(bytes), hasMark, text, lines, starts, matter };
  const isParsed = (markup === "markdown" || markup === "mdx") && text.length <= MAX_PARSED_CHARS;
  return isParsed
    ? { ...page, ...readMarkdown(text, matterEnd, markup === "mdx") }
    : { ...page, ...readLines(page) };
}

/** The number of the line with this offset, from 1. */
export function lineAt({ starts }: Pick<DocPage, "starts">, offset: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

type Read = Pick<DocPage, "blocks" | "parts" | "tags" | "comments" | "prose" | "plain" | "fault">;

function readMarkdown(text: string, start: number, isMdx: boolean): Read {
  const { enters: parts, fault } = partsOf(text, start, isMdx);
  const blocks: Block[] = [];
  for (const part of parts) {
    const kind = BLOCKS[part.type];
    const last = blocks.at(-1);
    if (kind !== undefined) blocks.push({ kind, from: part.from, to: part.to, depth: 0 });
    else if (last?.kind !== "heading" || last.depth > 0) continue;
    else if (part.type === "atxHeadingSequence") last.depth = part.to - part.from;
    else if (part.type === "setextHeadingLineSequence") last.depth = text[part.from] === "=" ? 1 : 2;
  }
  const ranges = (types: ReadonlySet<string>) => parts.filter(({ type }) => types.has(type));
  const html = ranges(HTML_PARTS);
  const comments = [
    ...html.flatMap(({ from, to }) => htmlComments(text, from, to)),
    ...ranges(EXPRESSIONS).filter(({ from, to }) => /^\{\s*\/\*[^]*\*\/\s*\}$/.test(text.slice(from, to))),
  ];
  const inline = ranges(INLINE_CODE);
  const before = start > 0 ? [{ from: 0, to: start }] : [];
  const code = [...before, ...ranges(CODE_PARTS), ...inline, ...comments];
  const words = parts.filter(({ type }) => type === "data");
  return {
    blocks,
    parts,
    tags: tagsIn(blanked(text, comments), html),
    comments,
    prose: blanked(text, code),
    plain: onlyIn(text, words, inline),
    fault,
  };
}

function htmlComments(text: string, from: number, to: number): Stretch[] {
  return [...text.slice(from, to).matchAll(/<!--[^]*?(?:-->|$)/g)].map(({ 0: all, index }) => ({
    from: from + index,
    to: from + index + all.length,
  }));
}

type Lines = Pick<DocPage, "text" | "lines" | "starts" | "markup" | "matter">;

/** Paragraphs of other markup are what blank lines and titles part. */
function readLines({ text, lines, starts, markup, matter }: Lines): Read {
  const blocks: Block[] = [];
  const code: Stretch[] = matter === null ? [] : [matter];
  const samples = markup === "rst" ? rstSamples(lines) : fencedLines(lines, markup === "asciidoc");
  const titles = titlesIn(lines, markup, samples);
  let open: Block | null = null;
  for (const [nth, line] of [...lines, ""].entries()) {
    const start = starts[nth] ?? text.length;
    const isSample = samples[nth] === true;
    const depth = titles.get(nth);
    if (isSample) code.push({ from: start, to: start + line.length });
    const isBlank = line.trim() === "";
    const kind = depth !== undefined ? "heading" : isSample ? "code" : "paragraph";
    // A sample goes on after a blank line.
    if (open !== null && (isBlank ? open.kind !== "code" : open.kind !== kind || kind === "heading"))
      open = null;
    if (isBlank) continue;
    if (open === null) blocks.push((open = { kind, from: start, to: start, depth: depth ?? 0 }));
    open.to = start + line.length;
  }
  const prose = blanked(text, code);
  return { blocks, parts: [], tags: [], comments: [], prose, plain: prose, fault: null };
}

/** For each line whether it is in a sample of AsciiDoc, or one of its ends. */
function fencedLines(lines: readonly string[], isAsciiDoc: boolean): boolean[] {
  let fence: string | null = null;
  return lines.map((line) => {
    const isFence = isAsciiDoc && /^(?:-{4,}|\.{4,}|\+{4,}|\/{4,})\s*$/.test(line);
    if (isFence && (fence === null || fence === line.trim())) fence = fence === null ? line.trim() : null;
    return isFence || fence !== null;
  });
}

/** The depths of titles, by their lines. */
function titlesIn(
  lines: readonly string[],
  markup: PageMarkup,
  samples: readonly boolean[],
): Map<number, number> {
  if (markup === "rst") return new Map(rstTitles(lines, samples).map(({ nth, depth }) => [nth, depth]));
  const titles = new Map<number, number>();
  for (const [nth, line] of markup === "asciidoc" ? lines.entries() : []) {
    const marks = /^(={1,6}) \S/.exec(line)?.[1];
    if (marks !== undefined && samples[nth] !== true) titles.set(nth, marks.length);
  }
  return titles;
}

/** The text with blanks in these stretches. Line ends stay. */
function blanked(text: string, ranges: readonly Stretch[]): string {
  const sorted = ranges.toSorted((one, other) => one.from - other.from);
  let [made, at] = ["", 0];
  for (const { from, to } of sorted) {
    if (to <= at) continue;
    const start = Math.max(from, at);
    made += text.slice(at, start) + blank(text.slice(start, to));
    at = to;
  }
  return made + text.slice(at);
}

/** Blanks, except in these stretches. */
function onlyIn(text: string, words: readonly Stretch[], code: readonly Stretch[]): string {
  const kept = [
    ...words.map((range) => ({ ...range, isCode: false })),
    ...code.map((range) => ({ ...range, isCode: true })),
  ];
  let [made, at] = ["", 0];
  for (const { from, to, isCode } of kept.toSorted((one, other) => one.from - other.from)) {
    if (from < at) continue;
    const inner = text.slice(from, to);
    made += blank(text.slice(at, from)) + (isCode ? inner.replace(/[^\r\n]/g, CODE) : inner);
    at = to;
  }
  return made + blank(text.slice(at));
}

function blank(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}
