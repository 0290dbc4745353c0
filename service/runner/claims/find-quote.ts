/** Shorter words stand in many a file. */
const MIN_QUOTE_LENGTH = 12;
const MAX_MATCHES = 1000;

/** The first and the last line of what was found, from 1. */
export type Lines = { from: number; to: number };

/**
 * Where the quote, words with single spaces between them, stands in the text, whatever the white
 * space there: the place that is nearest to the line of `hint`. Null: nowhere, or it is too short.
 */
export function findQuote(text: string, quote: string, hint: number | null): Lines | null {
  if (quote.length < MIN_QUOTE_LENGTH) return null;
  const pattern = new RegExp(
    quote
      .split(" ")
      .map((word) => RegExp.escape(word))
      .join(String.raw`\s+`),
    "g",
  );
  let found: Lines | null = null;
  let [line, at, matches] = [1, 0, 0];
  for (const match of text.matchAll(pattern)) {
    line += lineFeeds(text.slice(at, match.index));
    at = match.index;
    const place = { from: line, to: line + lineFeeds(match[0]) };
    const distance = ({ from }: Lines) => Math.abs(from - (hint ?? 1));
    if (found === null || distance(place) < distance(found)) found = place;
    if ((matches += 1) === MAX_MATCHES) break;
  }
  return found;
}

function lineFeeds(text: string): number {
  return text.split("\n").length - 1;
}
