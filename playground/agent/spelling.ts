import { readFileSync } from "node:fs";
import { markdownRanges, touches } from "./markdown-ranges.ts";

/** One distinct change to a file, and how often it was made. */
export type Edit = { from: string; to: string; count: number };
/** A text after its changes, and the changes. */
export type Edited = { text: string; edits: Edit[] };

/** Corrections by misspelling, both in lower case. */
export type WordList = ReadonlyMap<string, string>;

/** Reads `misspellings.txt`, the list that comes with the agent. */
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

// A word that isn't part of a path, an option, a name in code, an address or a mention.
const WORD =
  /(?<![\p{L}\p{M}\p{N}_/\\@#$%&=.'’-])\p{L}{3,}(?![\p{L}\p{M}\p{N}_/\\@=(]|[.'’:][\p{L}\p{N}/])/gu;

/**
 * Corrects misspelled words in prose and keeps their case. Leaves code, addresses, tags and front
 * matter as they are.
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

/** Adds one to the count of this change. */
export function countEdit(counts: Map<string, Edit>, from: string, to: string): void {
  const key = `${from}\n${to}`;
  const known = counts.get(key);
  counts.set(key, { from, to, count: (known?.count ?? 0) + 1 });
}

/**
 * Returns the correction in the case of the word, or null for a word in mixed case, which is a
 * name.
 */
function inCaseOf(word: string, right: string): string | null {
  if (word === word.toLowerCase()) return right;
  if (word === word.toUpperCase()) return right.toUpperCase();
  const capitalized = word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
  return word === capitalized ? right.charAt(0).toUpperCase() + right.slice(1) : null;
}
