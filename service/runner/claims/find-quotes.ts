/** Shorter texts can be found in many files. */
const MIN_QUOTE_LENGTH = 12;
const MAX_MATCHES = 1000;

/** The first and the last line of what was found, counted from 1. */
export type Lines = { from: number; to: number };

/** A quote whose words have single spaces between them, and the line where it may begin. */
export type Quote = { path: string; quote: string; line: number | null };

/**
 * Finds each quote in its file, whatever white space is between its words there. Of several places,
 * chooses the one nearest to the quote's line. Null if it isn't there, or is too short.
 */
export function findQuotes({
  files,
  quotes,
}: {
  files: ReadonlyMap<string, Buffer>;
  quotes: readonly Quote[];
}): (Lines | null)[] {
  const texts = new Map<string, SpacedText>();
  return quotes.map(({ path, quote, line }) => {
    const content = files.get(path);
    if (content === undefined || content.includes(0) || quote.length < MIN_QUOTE_LENGTH) return null;
    const text = texts.get(path) ?? spaced(content.toString("utf8"));
    texts.set(path, text);
    return findQuote(text, quote, line);
  });
}

/** A text with single spaces in place of white space, and where each of its lines begins in it. */
type SpacedText = { text: string; starts: number[] };

function spaced(written: string): SpacedText {
  const starts: number[] = [];
  const lines: string[] = [];
  let length = 0;
  let endsInSpace: boolean = false;
  for (const line of written.split("\n")) {
    // The line feed before it is white space, too.
    const words: string = `${starts.length === 0 ? "" : " "}${line}`.replace(/\s+/g, " ");
    const added: string = endsInSpace && words.startsWith(" ") ? words.slice(1) : words;
    starts.push(length + (added.startsWith(" ") ? 1 : 0));
    lines.push(added);
    length += added.length;
    if (added !== "") endsInSpace = added.endsWith(" ");
  }
  return { text: lines.join(""), starts };
}

function findQuote({ text, starts }: SpacedText, quote: string, hint: number | null): Lines | null {
  let found: Lines | null = null;
  let line = 1;
  let at = text.indexOf(quote);
  for (let matches = 0; at >= 0 && matches < MAX_MATCHES; matches += 1) {
    line = lineAt(starts, at, line);
    const place = { from: line, to: lineAt(starts, at + quote.length - 1, line) };
    const distance = ({ from }: Lines) => Math.abs(from - (hint ?? 1));
    if (found === null || distance(place) < distance(found)) found = place;
    at = text.indexOf(quote, at + quote.length);
  }
  return found;
}

/** The line that has this character, which isn't before the line `from`. */
function lineAt(starts: readonly number[], at: number, from: number): number {
  let line = from;
  while ((starts[line] ?? Infinity) <= at) line += 1;
  return line;
}
