import type { DocPage } from "../page.ts";
import { anyOf, eachLine, keyOfText, shown, type Trace } from "../rule.ts";

const NAMES = anyOf(
  "note, warning, tip, hint, important, caution, danger, attention, seealso, admonition, code-block, " +
    "sourcecode, literalinclude, image, figure, list-table, csv-table, toctree, versionadded, " +
    "versionchanged, versionremoved, deprecated, parsed-literal, highlight, glossary",
);
/** A directive without one of its colons or blanks, which is a comment then, or a text. */
const BROKEN = new RegExp(
  String.raw`^\s*(?:\.\. ${NAMES}(?::(?!:)|\s*$)|\.\.${NAMES}::|\.\. ${NAMES}:::|\.\. ${NAMES}::[\w/"'])`,
);
const NEEDS_WORDS = anyOf(
  "note, warning, tip, hint, important, caution, danger, attention, seealso, code-block, sourcecode",
);
const OPENS = new RegExp(String.raw`^(\s*)\.\. ${NEEDS_WORDS}::(.*)$`);
/** Marks of Markdown that mean something else here, or nothing. */
const MARKDOWN: readonly RegExp[] = [
  /^```[\w-]*\s*$/,
  /^#{2,6} [\p{L}\d]/u,
  /(?<![\w`\\[])\[[^[\]`]+\]\((?:https?:\/\/|\/|\.\.?\/|#)[^\s()]*\)/,
];

/** Titles, directives and other marks that a page of reStructuredText shows in another way. */
export const rstMarks = (page: DocPage): Trace[] => [
  ...shortUnderlines(page),
  ...eachLine(page, page.prose).flatMap(({ line, at }, nth): Trace[] => {
    const says = faultOf(page, line, nth);
    return says === null ? [] : [{ at, key: keyOfText(line), says: `${says}: ${shown(line.trim())}.` }];
  }),
];

function faultOf({ lines }: DocPage, line: string, nth: number): string | null {
  if (BROKEN.test(line)) return "This directive isn't written as one";
  const [, indent = "", rest = ""] = OPENS.exec(line) ?? [];
  const isEmpty = OPENS.test(line) && (rest.trim() === "" || /\.\. (?:code-block|sourcecode)::/.test(line));
  const isNext = (each: string, at: number) => at > nth && each.trim() !== "";
  if (isEmpty && (lines.find(isNext) ?? "").search(/\S/) <= indent.length)
    return "Nothing is indented below this directive";
  return MARKDOWN.some((pattern) => pattern.test(line)) ? "Markdown means nothing on this page" : null;
}

function shortUnderlines(page: DocPage): Trace[] {
  return page.lines.flatMap((line, nth): Trace[] => {
    const title = page.lines[nth - 1] ?? "";
    const above = page.lines[nth - 2] ?? "";
    const isUnder = /^([=\-`:'"~^_*+#<>.])\1{2,}$/.test(line.trimEnd()) && /^\S/.test(title);
    const isTitle =
      isUnder && (above.trim() === "" || above.startsWith("..") || above.trimEnd() === line.trimEnd());
    if (!isTitle || /^([^\p{L}\d\s])\1+$/u.test(title) || title.length <= line.trimEnd().length) return [];
    if (title.length > line.length + 20) return [];
    const says = `The line under the heading ${shown(title)} is shorter than the heading.`;
    return [{ at: page.starts[nth] ?? 0, key: title, says }];
  });
}

/** A literal of one line or more, from where one may begin to the first end after that. */
const LITERAL = /(?<=^|[\s'"([{<\-/:])``(?=[^\s`])[^]*?[^\s`]``(?!`)/g;

/** Literals without their other half, or with a letter right after it, which is no end then. */
export function openLiterals(page: DocPage): Trace[] {
  return page.blocks.flatMap(({ kind, from, to }) => {
    if (kind === "code") return [];
    // The line under a title may be of backticks.
    const words = page.prose.slice(from, to).replace(/^`{3,}\s*$/gm, (line) => " ".repeat(line.length));
    const key = keyOfText(words);
    if ((words.match(/``/g) ?? []).length % 2 === 1)
      return [{ at: from, key, says: `A "\`\`" has no other half in ${shown(words)}.` }];
    return [...words.matchAll(LITERAL)]
      .filter(({ 0: text, index }) => /^[\p{L}\d]/u.test(words.slice(index + text.length)))
      .map(({ 0: text, index }) => {
        const says = `A letter stands right after ${shown(text)}, which therefore doesn't end there.`;
        return { at: from + index, key, says };
      });
  });
}
