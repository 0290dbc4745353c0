import type { DocPage } from "../page.ts";
import { eachLine, type Trace, keyOfText, type Rule, shown } from "../rule.ts";
import { rstMarks } from "./rst-marks.ts";

const NO_BLANK = /^#{2,6}[^\s#].*/;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** An item's mark without a blank, or two marks. They count beside a line that is an item. */
const ODD_ITEM = /^\s*(?:[-*+](?=[\p{L}`"[])|[-+](?=\*\*)|\d{1,3}[.)](?=\p{L}{2})|(?:\*\*|--|\+\+) )/u;
const TWO_ITEMS = /^\s*([-*+]) \1 \S/;

/** Headings and items of lists whose mark shows as text, and headings that have lost it. */
export const blockMark: Rule = (page, before) => {
  if (page.markup === "rst") return rstMarks(page);
  if (page.parts.length === 0) return [];
  const found: Trace[] = [];
  const lines = wordLines(page);
  for (const [nth, { line, at }] of lines.entries()) {
    const isWords = page.plain[at + line.search(/\S/)] !== " ";
    const [above, below] = [lines[nth - 1]?.line ?? "", lines[nth + 1]?.line ?? ""];
    const isOdd = ODD_ITEM.test(line) && (ITEM.test(above) || ITEM.test(below));
    if (TWO_ITEMS.test(line) || (isWords && (NO_BLANK.test(line) || isOdd)))
      found.push({ at, key: keyOfText(line), says: `The mark of this line shows as text: ${shown(line)}.` });
  }
  for (const { kind, from, to } of page.blocks)
    if (kind === "heading" && !/[^\s#=-]/.test(page.text.slice(from, to)))
      found.push({ at: from, key: "empty", says: "This heading has no words." });
  return [...found, ...lostMarks(page, before)];
};

/** The lines of a page with their code, and empty ones in place of samples. */
function wordLines(page: DocPage): { line: string; at: number }[] {
  const blanked = eachLine(page, page.prose);
  return eachLine(page).map(({ line, at }, nth) => ({
    line: blanked[nth]?.line.trim() === "" && !/^\s*`[^`]/.test(line) ? "" : line,
    at,
  }));
}

const MARKED = /^#{1,6}\s+(\S.*?)\s*$/;
const MIN_CHARS = 8;

/** The one heading that stands as text. Several are a rework. */
function lostMarks(page: DocPage, before: DocPage | null): Trace[] {
  if (before === null) return [];
  const still = new Set(page.lines.map(keyOfText));
  const lost = new Set<string>();
  for (const { line } of wordLines(before)) {
    const words = MARKED.exec(line)?.[1] ?? "";
    if (words.length >= MIN_CHARS && !still.has(keyOfText(line))) lost.add(words);
  }
  const had = new Set(before.lines.map(keyOfText));
  const found = wordLines(page).filter(({ line }) => lost.has(line.trim()) && !had.has(keyOfText(line)));
  if (found.length !== 1) return [];
  return found.map(({ line, at }) => ({
    at,
    key: `lost ${keyOfText(line)}`,
    says: `This was a heading, and lost its mark: ${shown(line)}.`,
  }));
}
