import { splitPrompt } from "./understanding.ts";
import { WHAT_I_AM } from "./words.ts";

const MAX_PLACES = 3;
const MAX_SHOWN = 240;
const PARAGRAPH = /\S(?:.|\n(?!\s*\n))*/g;
/** Matches a quoted text, an option, or a name with a dot or an underscore. */
const NAMED = /[`"“']([^`"”'\n]{2,60})[`"”']|(--?[a-z][\w-]*|\b\w+[._]\w[\w.]*)/gi;
const WORD = /\p{L}{4,}/gu;
const COMMON = new RegExp(
  [
    String.raw`^(?:about|does|documented|docs|documentation|have|page|pages|say|says|support|supports`,
    String.raw`that|there|this|what|when|where|which|with|your)$`,
  ].join("|"),
  "i",
);

/**
 * Returns the words to look for in answer to a question, or null if the prompt isn't a question.
 */
export function termsOf(prompt: string): string[] | null {
  const asked = splitPrompt(prompt).instructions.trim();
  if (!asked.endsWith("?")) return null;
  const named = [...asked.matchAll(NAMED)].map(([whole, quoted]) => quoted ?? whole);
  const words = (asked.match(WORD) ?? []).filter((word) => !COMMON.test(word));
  return named.length > 0 ? named : words;
}

type Place = { path: string; line: number; text: string; found: number };

/**
 * Answers with the places in the pages where these words occur, the best ones first. `pages` holds
 * texts by path.
 */
export function answerOf(terms: readonly string[], pages: ReadonlyMap<string, string>): string {
  const places = [...pages].flatMap(([path, page]) =>
    [...page.matchAll(PARAGRAPH)].flatMap(({ index, 0: paragraph }): Place[] => {
      const lower = paragraph.toLowerCase();
      const found = terms.filter((term) => lower.includes(term.toLowerCase())).length;
      const text = paragraph.replaceAll(/\s+/g, " ").slice(0, MAX_SHOWN);
      return found === 0 ? [] : [{ path, line: page.slice(0, index).split("\n").length, text, found }];
    }),
  );
  const best = places.toSorted((a, b) => b.found - a.found).slice(0, MAX_PLACES);
  const asked = terms.map((term) => `\`${term}\``).join(", ");
  if (best.length === 0) return `No page says anything about ${asked || "that"}.\n\n${WHAT_I_AM}`;
  const lines = best.map(({ path, line, text }) => `- ${path}:${line}: ${text}`);
  return `The pages say about ${asked}:\n\n${lines.join("\n")}\n\n${WHAT_I_AM}`;
}
