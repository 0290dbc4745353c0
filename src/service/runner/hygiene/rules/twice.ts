import type { Block, DocPage } from "../page.ts";
import { type Trace, keyOfText, type Rule, shown } from "../rule.ts";

/** So many words make it certain that a text isn't there twice on purpose. */
const NEAR_WORDS = 6;
const FAR_WORDS = 40;
/** Where a page had it once. */
const ADDED_WORDS = 20;

/**
 * A paragraph or sample that is there twice. A short one counts only right after the first. A page
 * that says things twice says them so on purpose.
 */
export const paragraphTwice: Rule = (page, before) => {
  const [twice, known] = [twicesOf(page), before === null ? [] : twicesOf(before)];
  const isStyle = known.some(({ isNear }) => !isNear);
  const had = new Set(before?.blocks.map((block) => textOf(before, block)));
  return twice.flatMap(({ at, text, words, isNear }): Trace[] => {
    const enough = isNear ? NEAR_WORDS : had.has(text) ? ADDED_WORDS : FAR_WORDS;
    if (words < enough || (isStyle && !isNear)) return [];
    return [{ at, key: text, says: `This is on the page twice: ${shown(text)}.` }];
  });
};

type Twice = { at: number; text: string; words: number; isNear: boolean };

function twicesOf(page: DocPage): Twice[] {
  const found: Twice[] = [];
  const seen = new Map<string, number>();
  const blocks = page.blocks.filter(({ kind }) => kind !== "break");
  for (const [nth, block] of blocks.entries()) {
    if (block.kind !== "paragraph" && block.kind !== "code") continue;
    const text = textOf(page, block);
    const same = `${block.kind} ${text}`;
    const other = seen.get(same);
    seen.set(same, nth);
    if (other === undefined) continue;
    const isNear = other === nth - 1;
    // Code is often the same, and tabs say the same more than once.
    if (!isNear && (block.kind === "code" || /\{[{%]/.test(text) || isInside(page, block))) continue;
    const said = block.kind === "code" ? text : page.plain.slice(block.from, block.to);
    const words = wordCount(said);
    found.push({ at: block.from, text, words, isNear });
  }
  return found;
}

function wordCount(text: string): number {
  return text.match(/[\p{L}\d]+/gu)?.length ?? 0;
}

function textOf({ text }: DocPage, { from, to }: Block): string {
  return keyOfText(text.slice(from, to));
}

/** True if a component or an element is around a block: tabs say the same more than once. */
function isInside({ tags }: DocPage, { from }: Block): boolean {
  let depth = 0;
  for (const tag of tags) {
    if (tag.from > from) break;
    if (tag.kind !== "alone") depth += tag.kind === "open" ? 1 : -1;
  }
  return depth > 0;
}

type Section = { title: string; from: number; parent: number; body: string };
type Twin = { section: Section; first: Section; isNear: boolean };

/**
 * A section that is there twice under the same heading. A short one counts only right after the
 * first. Where a page had it once, enough of its lines count, too.
 */
export const sectionTwice: Rule = (page, before) => {
  if (before !== null && twins(before).length > 0) return [];
  const had = new Set(before === null ? [] : sectionsOf(before).map(({ title }) => title));
  return twins(page).flatMap(({ section: { title, from, body }, first, isNear }): Trace[] => {
    const words = wordCount(body);
    const enough = isNear ? NEAR_WORDS : had.has(title) ? ADDED_WORDS : FAR_WORDS;
    const isSame = keyOfText(body) === keyOfText(first.body) && words >= enough;
    const isEmpty = isNear && wordCount(first.body) === 0;
    if (!isSame && !isEmpty && !(had.has(title) && isEdited(first.body, body))) return [];
    const says = `This section is on the page twice: ${shown(title.replace(/^#+\s+/, ""))}.`;
    return [{ at: from, key: title, says }];
  });
};

/** The sections that have an earlier one with their title, below the same heading. */
function twins(page: DocPage): Twin[] {
  const sections = sectionsOf(page);
  return sections.flatMap((section, nth): Twin[] => {
    const siblings = sections.slice(0, nth).filter(({ parent }) => parent === section.parent);
    const first = siblings.findLast(({ title }) => title === section.title);
    return first === undefined ? [] : [{ section, first, isNear: first === siblings.at(-1) }];
  });
}

/** The headings of a page with all that is below them. In a component, the same may be meant. */
function sectionsOf(page: DocPage): Section[] {
  const headings = page.blocks.filter(({ kind, depth }) => kind === "heading" && depth > 0);
  return headings.flatMap((heading, nth): Section[] => {
    if (isInside(page, heading)) return [];
    const end = headings.slice(nth + 1).find(({ depth }) => depth <= heading.depth);
    const parent = headings.slice(0, nth).findLastIndex(({ depth }) => depth < heading.depth);
    const body = page.text.slice(heading.to, end?.from ?? page.text.length);
    return [{ title: textOf(page, heading), from: heading.from, parent, body }];
  });
}

const MIN_SHARED = 3;
const SHARE = 0.7;

/** True if most lines of the shorter one stand in the other. */
function isEdited(one: string, other: string): boolean {
  const [lines, others] = [linesOf(one), linesOf(other)];
  const shared = [...lines].filter((line) => others.has(line)).length;
  return shared >= MIN_SHARED && shared >= SHARE * Math.min(lines.size, others.size);
}

function linesOf(text: string): Set<string> {
  return new Set(
    text
      .split("\n")
      .map(keyOfText)
      .filter((line) => /\p{L}/u.test(line)),
  );
}
