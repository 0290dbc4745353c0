import type { DocPage } from "../page.ts";
import { type Trace, keyOfText, type Rule, shown } from "../rule.ts";

/** Headings that go down by more than one level, on pages where no other does. */
export const headingJump: Rule = (page, before) => {
  const jumps = jumpsOf(page, before ?? page);
  return before !== null && jumpsOf(before).length > 0 ? [] : jumps;
};

/** Some sites have level 3 below a page's title, and no level 2. */
function jumpsOf(page: DocPage, was: DocPage = page): Trace[] {
  const headings = page.blocks.filter(({ kind, depth }) => kind === "heading" && depth > 0);
  const isStyle = !was.blocks.some(({ depth }) => depth === 2);
  // The first one is below the page's title, which may be in the front matter.
  const firstBefore = was.blocks.find(({ kind, depth }) => kind === "heading" && depth > 0);
  return headings.flatMap((heading, nth) => {
    const above = nth === 0 ? firstBefore : headings[nth - 1];
    if (above === undefined || heading.depth <= above.depth + 1) return [];
    if (isStyle && above.depth === 1 && heading.depth === 3) return [];
    const title = page.text.slice(heading.from, heading.to);
    const says = `The heading ${shown(title)} has level ${heading.depth}, below one of level ${above.depth}.`;
    return [{ at: heading.from, key: keyOfText(title), says }];
  });
}

const LIST_OR_TABLE = /^ {0,3}(?:[-*+]\s|1[.)]\s|\|)/;

/** A blank line that is gone before a list or a table, without which some sites show neither. */
export const blankLine: Rule = (page, before) => {
  if (before === null || page.markup !== "markdown") return [];
  const parted = new Set(
    before.lines.flatMap((line, nth) =>
      before.lines[nth + 1]?.trim() === "" ? [`${line}\n${before.lines[nth + 2] ?? ""}`] : [],
    ),
  );
  const joined = new Set(before.lines.map((line, nth) => `${line}\n${before.lines[nth + 1] ?? ""}`));
  return page.lines.flatMap((line, nth): Trace[] => {
    const next = page.lines[nth + 1] ?? "";
    const pair = `${line}\n${next}`;
    const at = page.starts[nth + 1] ?? 0;
    if (!LIST_OR_TABLE.test(next) || LIST_OR_TABLE.test(line) || /^\s*$|^\s|^#/.test(line)) return [];
    if (!parted.has(pair) || joined.has(pair) || page.prose[at] === " ") return [];
    return [{ at, key: pair, says: `The blank line before ${shown(next)} is gone.` }];
  });
};

/** A page that lost all its words, ends in the middle of them, or is one code block as a whole. */
export const lostPage: Rule = (page, before) => {
  if (before === null || before.text.trim() === "") return [];
  if (page.text.trim() === "") return [{ at: 0, key: "empty", says: "Nothing is left on the page." }];
  const isWhole = ({ blocks }: DocPage) => blocks.length === 1 && blocks[0]?.kind === "code";
  const cut = cutLine(page, before);
  if (cut !== null) {
    return [
      {
        at: page.starts[cut] ?? 0,
        key: "cut",
        says: `The page ends in the middle of ${shown(page.lines[cut] ?? "")}.`,
      },
    ];
  }
  if (page.parts.length === 0 || !isWhole(page) || isWhole(before)) return [];
  return [{ at: 0, key: "code", says: "The whole page stands in one code block." }];
};

const MIN_CUT_CHARS = 10;
const MIN_CUT_LINES = 3;
const ENDS = /[\p{L}\d,]$/u;

/** The last line, if it is the beginning of one that was there, and what came after is gone. */
function cutLine(page: DocPage, before: DocPage): number | null {
  const nth = page.lines.findLastIndex((line) => line.trim() !== "");
  const last = page.lines[nth]?.trimEnd() ?? "";
  if (last.length < MIN_CUT_CHARS || !ENDS.test(last) || before.lines.some((line) => line.trimEnd() === last))
    return null;
  const at = before.lines.findIndex((line) => line.startsWith(last));
  if (at < 0) return null;
  const still = new Set(page.lines);
  const gone = before.lines.slice(at).filter((line) => line.trim() !== "" && !still.has(line));
  return gone.length < MIN_CUT_LINES ? null : nth;
}
