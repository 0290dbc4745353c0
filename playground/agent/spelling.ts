import { readFileSync } from "node:fs";
import { markdownRanges, touches } from "./markdown-ranges.ts";

/** What one kind of change did to a file: each distinct one, and how often. */
export type Edit = { from: string; to: string; count: number };
export type Edited = { text: string; edits: Edit[] };

/** Misspelling to correction, both in lower case. */
export type WordList = ReadonlyMap<string, string>;

/** The list that comes with the agent: `misspellings.txt`. */
export function readWordList(): WordList {
  const text = readFileSync(new URL("./misspellings.txt", import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [wrong = "", ...right] = line.split(" ");
      return [wrong, right.join(" ")];
    }),
  );
}

// Not a part of a path, an option, a name in code, an address or a mention.
const WORD =
  /(?<![\p{L}\p{M}\p{N}_/\\@#$%&=.'’-])\p{L}{3,}(?![\p{L}\p{M}\p{N}_/\\@=(]|[.'’:][\p{L}\p{N}/])/gu;

/**
 * Corrects misspelled words in prose, in the case they are written in. Code, addresses, tags and
 * front matter stay.
 */
export function correctSpelling(text: string, isMdx: boolean, words: WordList): Edited {
  const { protected: untouchable } = markdownRanges(text, isMdx);
  const counts = new Map<string, Edit>();
  const corrected = text.replaceAll(WORD, (word: string, start: number) => {
    const right = words.get(word.toLowerCase());
    if (right === undefined || touches(untouchable, { start, end: start + word.length })) return word;
    const to = inCaseOf(word, right);
    if (to === null) return word;
    countEdit(counts, word, to);
    return to;
  });
  return { text: corrected, edits: [...counts.values()] };
}

export function countEdit(counts: Map<string, Edit>, from: string, to: string): void {
  const key = `${from}\n${to}`;
  const known = counts.get(key);
  counts.set(key, { from, to, count: (known?.count ?? 0) + 1 });
}

/** `null` for a word in mixed case: that is a name. */
function inCaseOf(word: string, right: string): string | null {
  if (word === word.toLowerCase()) return right;
  if (word === word.toUpperCase()) return right.toUpperCase();
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
  return word === capitalised ? right.charAt(0).toUpperCase() + right.slice(1) : null;
}
