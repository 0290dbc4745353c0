import { eachWord } from "../../publish/runs-of-words.ts";
import { SPELLED_NUMBERS } from "./missing-tokens.ts";
import type { Claim } from "./parse-claims.ts";

/** A page before and after the change. `before` is null if the page is new. */
export type ChangedText = { before: Buffer | null; after: Buffer };

/**
 * Tells of each claim whether the change makes it: if its page has added lines, and one place of
 * them has most of the statement's words, by their length, and each word with a digit. `pages` has
 * those that the change adds or modifies.
 */
export function claimsInChange({
  claims,
  pages,
}: {
  claims: readonly Pick<Claim, "page" | "statement">[];
  pages: ReadonlyMap<string, ChangedText>;
}): boolean[] {
  const known = new Map<string, number>();
  const statements = claims.map(({ statement }) => wordsOf(statement.replace(/\S*…$/, ""), known));
  const isIn = claims.map(() => false);
  for (const [page, its] of Map.groupBy(claims.keys(), (at) => claims[at]?.page ?? "")) {
    const text = pages.get(page);
    if (text === undefined) continue;
    const added = numbersOf(addedLines(text), known);
    for (const at of its) isIn[at] = holds(added, statements[at] ?? new Map());
  }
  return isIn;
}

/** The lines that a page gets, one after the other. Those that only move aren't new. */
function addedLines({ before, after }: ChangedText): string {
  const linesOf = (text: Buffer | null) => text?.toString("utf8").split("\n") ?? [];
  const old = new Set(linesOf(before).map((line) => line.trim()));
  return linesOf(after)
    .filter((line) => !old.has(line.trim()))
    .join("\n");
}

/** Words count as the same if they begin with the same letters: `prints`, `printed`. */
const STEM_LENGTH = 5;
const HAS_DIGIT = /\p{N}/u;

/** The form in which words are compared. A number is compared whole. */
function stemOf(word: string): string {
  const written = word.slice(0, 100).toLowerCase();
  const lower = SPELLED_NUMBERS.get(written) ?? written;
  return HAS_DIGIT.test(lower) ? lower : lower.slice(0, STEM_LENGTH);
}

type Words = Map<number, { weight: number; isNeeded: boolean }>;

/** A statement's words by their numbers, of which new ones are added to `known`. */
function wordsOf(statement: string, known: Map<string, number>): Words {
  const words: Words = new Map();
  eachWord(statement, (_one, _other, _weight, start, end) => {
    const stem = stemOf(statement.slice(start, end));
    const number = known.get(stem) ?? known.size;
    known.set(stem, number);
    words.set(number, { weight: stem.length, isNeeded: HAS_DIGIT.test(stem) });
    return true;
  });
  return words;
}

/** The number of each of a text's words. Those that no statement has are -1. */
function numbersOf(text: string, known: ReadonlyMap<string, number>): Int32Array {
  let numbers = new Int32Array(1024);
  let length = 0;
  eachWord(text, (_one, _other, _weight, start, end) => {
    if (length === numbers.length) {
      const more = new Int32Array(2 * length);
      more.set(numbers);
      numbers = more;
    }
    numbers[length++] = known.get(stemOf(text.slice(start, Math.min(end, start + 100)))) ?? -1;
    return true;
  });
  return numbers.subarray(0, length);
}

/** So many words belong together, or a few times those of the statement. */
const MIN_WINDOW = 40;
const WINDOW_FACTOR = 3;

/** True if a place in the text has most of the words, and all that are needed. */
function holds(text: Int32Array, words: Words): boolean {
  const all = [...words.values()].reduce((sum, { weight }) => sum + weight, 0);
  const needed = [...words.values()].filter(({ isNeeded }) => isNeeded).length;
  if (all === 0) return false;
  const window = Math.max(MIN_WINDOW, WINDOW_FACTOR * words.size);
  const counts = new Map<number, number>();
  let found = 0;
  let foundNeeded = 0;
  const change = (at: number, by: 1 | -1) => {
    const number = text[at] ?? -1;
    const word = number < 0 ? undefined : words.get(number);
    if (word === undefined) return;
    const before = counts.get(number) ?? 0;
    counts.set(number, before + by);
    if ((by === 1 ? before : before - 1) !== 0) return;
    found += by * word.weight;
    if (word.isNeeded) foundNeeded += by;
  };
  for (let at = 0; at < text.length; at += 1) {
    change(at, 1);
    change(at - window, -1);
    if (2 * found > all && foundNeeded === needed) return true;
  }
  return false;
}
