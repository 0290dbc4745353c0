import { diffArrays } from "diff";
import { aligned, type Segment } from "../page/align.ts";
import { type Block, blocksOf, isPage } from "../page/blocks.ts";
import { headingText } from "../page/sections.ts";
import { codeTokens } from "../page/tokens.ts";
import { likeness, wordsOf } from "../rules/turned.ts";
import { wordsIn } from "./words.ts";

/** A page before and after a commit. */
export type ChangedPage = { path: string; before: string; after: string };

/** What kind of thing a commit puts right, in one place or on the whole. */
export type PlaceKind = "fact" | "sample" | "link" | "words" | "prose";

/**
 * One place of a page that a commit changes. `old` has what goes from there and `brought` what
 * comes: names, numbers, targets of links, and words where a few of them change.
 */
export type Place = {
  path: string;
  /** The nearest heading above that stays. Null if there is none. */
  under: string | null;
  kind: PlaceKind;
  old: string[];
  brought: string[];
  /** What stood there and what stands there. Empty if there was nothing, or is nothing anymore. */
  before: string;
  after: string;
};

const TARGET = /\]\(\s*<?([^)\s>]+)|\b(?:href|src|to)=["']([^"']+)["']|^\[[^\]]+\]:\s*(\S+)/gm;
const NUMBER = /(?<![\p{L}\d_.-])\d+(?:[.,]\d+)*(?![\p{L}\d_])/gu;
const SPAN = /(`+)(.+?)\1/g;
const COMMENT = /(?:^|(?<=\s))(?:\/\/|#(?!!)|--(?=\s)).*$|\/\*[^]*?\*\/|<!--[^]*?-->/gm;
const WORD_OF_CODE = /[\p{L}_$][\w$-]*/gu;
const PART_OF_CODE = /[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]+/gu;
const MAX_SPAN = 60;
/** More words that go or come are a new wording. */
const MAX_WORDS = 4;
/** A date in front matter is brought up to date with each change. */
const DATED = /^(?:date|updated?|modified|last[-_ ]?(?:mod|modified|updated?)|reviewed)\w*\s*:/i;

/** The places that a commit changes on a page. A change of its layout alone is none. */
export function placesOf({ path, before, after }: ChangedPage): Place[] {
  const [old, now] = [before, after].map((text) =>
    blocksOf(path, text).filter(({ kind, form }) => kind !== "matter" || !DATED.test(form)),
  );
  if (old === undefined || now === undefined) return [];
  const headings = new Set(old.flatMap(headingsOf));
  return aligned(old, now, now)
    .segments.flatMap(pairedParts)
    .flatMap((segment) => {
      if (segment.before.map(({ form }) => form).join() === segment.reference.map(({ form }) => form).join())
        return [];
      const [first] = segment.reference.length > 0 ? segment.reference : segment.before;
      const among = segment.reference.length > 0 ? now : old;
      const above = among.slice(0, first === undefined ? 0 : among.indexOf(first));
      const under = above.flatMap(headingsOf).findLast((heading) => headings.has(heading)) ?? null;
      return [placeIn(segment, path, under)];
    });
}

/** Blocks with so much in common are one block before and after. */
const ALIKE = 0.4;

/** Parts of a segment: each block with what it became, and what has no other side. */
function pairedParts({ before, reference }: Segment): Pick<Segment, "before" | "reference">[] {
  const left = [...reference];
  const parts: Pick<Segment, "before" | "reference">[] = [];
  const alone: Block[] = [];
  for (const block of before) {
    const words = wordsOf(block.visible);
    const alike = left.map((other) =>
      other.kind === block.kind ? likeness(words, wordsOf(other.visible)) : 0,
    );
    const at = alike.indexOf(Math.max(...alike, ALIKE));
    const [other] = at < 0 ? [] : left.splice(at, 1);
    if (other === undefined) alone.push(block);
    else parts.push({ before: [block], reference: [other] });
  }
  return alone.length + left.length > 0 ? [...parts, { before: alone, reference: left }] : parts;
}

function headingsOf({ kind, visible }: Block): string[] {
  return kind === "heading" ? [headingText(visible)] : [];
}

function placeIn(
  { before, reference }: Pick<Segment, "before" | "reference">,
  path: string,
  under: string | null,
): Place {
  const texts = [before, reference].map((blocks) => blocks.map(({ visible }) => visible).join("\n"));
  const place = { path, under: isPage(path) ? under : null, before: texts[0] ?? "", after: texts[1] ?? "" };
  const [old, now] = [tokensIn(before), tokensIn(reference)];
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
    withoutParts([...one].filter((token) => !other.has(token)));
  const [gone, brought] = [only(old.all, now.all), only(now.all, old.all)];
  const isSample = [...before, ...reference].every(({ kind }) => kind === "sample");
  if (gone.length + brought.length > 0) {
    const isLink = [...gone, ...brought].every((token) => old.links.has(token) || now.links.has(token));
    return { ...place, kind: isSample ? "sample" : isLink ? "link" : "fact", old: gone, brought };
  }
  if (isSample) return { ...place, ...sampleChange(place.before, place.after) };
  const words = changed(wordsIn(place.before), wordsIn(place.after));
  const isShort = Math.max(words.old.length, words.brought.length) <= MAX_WORDS;
  const isSame = words.old.length + words.brought.length === 0;
  // A cell of a table is a value, also where it is a word.
  const isRow = [...before, ...reference].every(({ kind }) => kind === "row");
  return isShort && !isSame
    ? { ...place, kind: isRow ? "fact" : "words", ...words }
    : { ...place, kind: "prose", old: [], brought: [] };
}

/** What changes in a sample that has the same names before and after. */
function sampleChange(before: string, after: string): Pick<Place, "kind" | "old" | "brought"> {
  const codeOf = (text: string) => text.replace(COMMENT, "");
  const parts = changed(codeOf(before).match(PART_OF_CODE) ?? [], codeOf(after).match(PART_OF_CODE) ?? []);
  const isShort = Math.max(parts.old.length, parts.brought.length) <= MAX_WORDS;
  const isNone = parts.old.length + parts.brought.length === 0;
  return isShort && !isNone ? { kind: "sample", ...parts } : { kind: "prose", old: [], brought: [] };
}

function changed(before: string[], after: string[]): { old: string[]; brought: string[] } {
  const parts = diffArrays(before, after);
  const those = (isMeant: (part: (typeof parts)[number]) => boolean) =>
    parts.filter(isMeant).flatMap(({ value }) => value.filter((each) => each.trim() !== ""));
  return { old: those(({ removed }) => removed), brought: those(({ added }) => added) };
}

/** The names, numbers and targets in some blocks, and those of them that are links. */
function tokensIn(blocks: readonly Block[]): { all: Set<string>; links: Set<string> } {
  const all = new Set<string>();
  const links = new Set<string>();
  for (const block of blocks) {
    const isSample = block.kind === "sample" || block.kind === "line";
    if (!isSample)
      for (const [, ...targets] of block.visible.matchAll(TARGET))
        links.add(targets.find((target) => target !== undefined) ?? "");
    // Comments are prose, which may be worded otherwise.
    const visible = isSample ? block.visible.replace(COMMENT, " ") : block.visible;
    const tokens = codeTokens({ ...block, visible });
    if (!isSample) for (const token of tokens) if (/^https?:/.test(token)) links.add(token);
    const prose = isSample ? visible : visible.replace(TARGET, " ");
    for (const token of [...tokens, ...(prose.match(NUMBER) ?? [])]) all.add(token);
    if (isSample) for (const word of prose.match(WORD_OF_CODE) ?? []) all.add(word);
    else for (const { 2: span = "" } of prose.matchAll(SPAN)) if (span.length <= MAX_SPAN) all.add(span);
  }
  for (const link of links) all.add(link);
  return { all, links };
}

/** Leaves out what is part of another one, or of which all parts are there by themselves. */
function withoutParts(tokens: readonly string[]): string[] {
  const whole = tokens.filter((token) => !/\s/.test(token));
  const isSaid = (span: string) => whole.some((token) => span.includes(token));
  const kept = tokens.filter((token) => !/\s/.test(token) || !isSaid(token));
  return kept.filter((token) => !kept.some((other) => other !== token && other.includes(token)));
}
