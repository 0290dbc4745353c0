/** Part of a text, from `start` up to but not including `end`. */
export type Range = { start: number; end: number };

/** The parts of a Markdown text that aren't prose. */
export type MarkdownRanges = {
  /**
   * Code, addresses, tags and front matter, which no correction of prose may touch. In order,
   * without overlaps.
   */
  protected: Range[];
  /** Code alone: fenced, indented and inline. */
  code: Range[];
};

const FENCE = /^(?:[ \t>]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})(.*)$/;
const INDENTED = /^(?: {4}|\t| {1,3}\t)/;
/** Matches the keys of the front matter whose values are prose. The keys themselves never are. */
const PROSE_VALUE = /^(?:title|description|summary|sidebarTitle):[ \t]*/;

const INLINE = [
  // Comments of HTML and of MDX.
  /<!--[\s\S]*?-->/g,
  /\{\/\*[\s\S]*?\*\/\}/g,
  // The target of a link, picture or definition, with its title.
  /\]\(\s*(?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)/g,
  /^[ \t]{0,3}\[[^\]\n]+\]:[ \t]*\S+/gm,
  // The name of a reference: `[text][name]`.
  /\]\[[^\]\n]*\]/g,
  // Tags with their attributes, and addresses in angle brackets.
  /<\/?[A-Za-z][^<>]*>/g,
  /\b(?:[a-z][a-z0-9+.-]*:\/\/|www\.|mailto:)[^\s<>)\]"'`]+/gi,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
];
const MDX_ONLY = [/^(?:import|export)\b.*(?:\n(?!\s*\n).*)*/gm, /\{[^{}\n]*\}/g];

/** Finds the parts of a Markdown or MDX text that aren't prose. An unclear part counts as code. */
export function markdownRanges(text: string, isMdx: boolean): MarkdownRanges {
  const blocks = blockRanges(text);
  const inlineCode = inlineCodeRanges(text, merge([...blocks.code, ...blocks.frontMatter]));
  const code = merge([...blocks.code, ...inlineCode]);
  const inline = [...INLINE, ...(isMdx ? MDX_ONLY : [])].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: { length } }) => ({ start: index, end: index + length })),
  );
  return { code, protected: merge([...code, ...blocks.frontMatter, ...inline]) };
}

/** True if a range shares a character with one of `ranges`, which are in order. */
export function touches(ranges: readonly Range[], { start, end }: Range): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.end ?? 0) > start) high = middle;
    else low = middle + 1;
  }
  const next = ranges[low];
  return next !== undefined && next.start < end;
}

function blockRanges(text: string): { code: Range[]; frontMatter: Range[] } {
  const code: Range[] = [];
  const frontMatter: Range[] = [];
  let fence: { mark: string; start: number } | null = null;
  let isInFrontMatter = /^---[ \t]*\r?\n[\s\S]*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.test(text);
  let isFirst = true;
  let isAfterBlank = true;
  for (const { start, end, line } of linesOf(text)) {
    if (isInFrontMatter) {
      const prose = PROSE_VALUE.exec(line)?.[0].length;
      frontMatter.push({ start, end: prose === undefined ? end : start + prose });
      if (!isFirst && /^(?:---|\.\.\.)[ \t]*$/.test(line)) isInFrontMatter = false;
      isFirst = false;
      continue;
    }
    const mark = FENCE.exec(line);
    if (fence) {
      code.push({ start, end });
      const closes = mark?.[1]?.startsWith(fence.mark) === true && (mark[2] ?? "").trim() === "";
      if (closes) fence = null;
      isAfterBlank = true;
      continue;
    }
    // The info string of a fence of backticks contains no backtick. With one, it is inline code.
    if (mark?.[1] !== undefined && !(mark[1].startsWith("`") && (mark[2] ?? "").includes("`"))) {
      fence = { mark: mark[1], start };
      code.push({ start, end });
      continue;
    }
    const isBlank = line.trim() === "";
    const wasCode = code.at(-1)?.end === start;
    if (!isBlank && INDENTED.test(line) && (isAfterBlank || wasCode)) code.push({ start, end });
    else isAfterBlank = isBlank;
  }
  return { code: merge(code), frontMatter: merge(frontMatter) };
}

/**
 * Finds inline code: a run of backticks up to the next run of the same length in the same
 * paragraph.
 */
function inlineCodeRanges(text: string, blocks: Range[]): Range[] {
  const runs = [...text.matchAll(/`+/g)]
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length }))
    .filter((run) => !touches(blocks, run));
  const found: Range[] = [];
  for (let at = 0; at < runs.length; at += 1) {
    const open = runs[at];
    if (!open) continue;
    const size = open.end - open.start;
    const close = runs.findIndex((run, index) => index > at && run.end - run.start === size);
    const end = runs[close]?.end;
    if (end === undefined || /\n[ \t]*\r?\n/.test(text.slice(open.start, end))) continue;
    found.push({ start: open.start, end });
    at = close;
  }
  return found;
}

function* linesOf(text: string): Generator<Range & { line: string }> {
  for (const { index, 0: whole } of text.matchAll(/[^\n]*\n|[^\n]+$/g)) {
    yield { start: index, end: index + whole.length, line: whole.replace(/\r?\n$/, "") };
  }
}

function merge(ranges: Range[]): Range[] {
  const merged: Range[] = [];
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else merged.push({ ...range });
  }
  return merged;
}
