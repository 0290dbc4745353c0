import type { Block, DocPage } from "../page.ts";
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
  return headings.flatMap((heading, nth) => {
    const above = headings[nth - 1];
    if (above === undefined || heading.depth <= above.depth + 1) return [];
    if (isStyle && above.depth === 1 && heading.depth === 3) return [];
    const title = page.text.slice(heading.from, heading.to);
    const says = `The heading ${shown(title)} has level ${heading.depth}, below one of level ${above.depth}.`;
    return [{ at: heading.from, key: keyOfText(title), says }];
  });
}

/** So many words make it certain that a text isn't there twice on purpose. */
const NEAR_WORDS = 6;
const FAR_WORDS = 40;
const NEAR_BLOCKS = 2;

/** A paragraph or sample that is there twice. A short one counts only right after the first. */
export const paragraphTwice: Rule = (page) => {
  const found: Trace[] = [];
  const seen = new Map<string, { nth: number; block: Block }>();
  const blocks = page.blocks.filter(({ kind }) => kind !== "break");
  for (const [nth, block] of blocks.entries()) {
    if (block.kind !== "paragraph" && block.kind !== "code") continue;
    const text = keyOfText(page.text.slice(block.from, block.to));
    const words = text.match(/[\p{L}\d]+/gu)?.length ?? 0;
    const other = seen.get(text);
    seen.set(text, { nth, block });
    if (other === undefined || words < NEAR_WORDS) continue;
    const between = blocks.slice(other.nth + 1, nth);
    const isNear =
      between.length < NEAR_BLOCKS && between.every(({ kind }) => kind === "paragraph" || kind === "code");
    const isFar =
      block.kind === "paragraph" && words >= FAR_WORDS && !/\{[{%]/.test(text) && !isInside(page, block);
    if (!isNear && !isFar) continue;
    found.push({ at: block.from, key: text, says: `This is on the page twice: ${shown(text)}.` });
  }
  return found;
};

/** True if a component or an element is around a block: tabs say the same more than once. */
function isInside({ tags }: DocPage, { from }: Block): boolean {
  let depth = 0;
  for (const tag of tags) {
    if (tag.from > from) break;
    if (tag.kind !== "alone") depth += tag.kind === "open" ? 1 : -1;
  }
  return depth > 0;
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

/** A page that lost all its words, or stands in one code block as a whole. */
export const lostPage: Rule = (page, before) => {
  if (before === null || before.text.trim() === "") return [];
  if (page.text.trim() === "") return [{ at: 0, key: "empty", says: "Nothing is left on the page." }];
  const isWhole = ({ blocks }: DocPage) => blocks.length === 1 && blocks[0]?.kind === "code";
  if (page.parts.length === 0 || !isWhole(page) || isWhole(before)) return [];
  return [{ at: 0, key: "code", says: "The whole page stands in one code block." }];
};
