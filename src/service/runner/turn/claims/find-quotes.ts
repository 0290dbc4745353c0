/** More places of the same words don't matter. */
const MAX_MATCHES = 1000;

/** The first and the last line of what was found, counted from 1. */
export type Lines = { from: number; to: number };

/**
 * `isCut` is true if the quote may end in the middle of a word. Of several places that count, the
 * one nearest to the line `hint` is chosen.
 */
type Wanted = { isCut: boolean; hint: number | null; counts: (place: Lines) => boolean };

/**
 * A function that finds a quote in a text, whatever white space is between its words there, and
 * whatever marks of comments or quotes begin its lines (`//`, `*`, `>`). Null if it isn't there.
 * All of it works on bytes, so a text of 50 MB takes the room of two more.
 */
export function quoteFinder(content: Uint8Array): (quote: string, wanted: Wanted) => Lines | null {
  let plain: Spaced | undefined;
  let unmarked: Spaced | undefined;
  return (quote, wanted) => {
    const bytes = Buffer.from(quote);
    plain ??= spaced(content, false);
    const found = findIn(plain, spaced(bytes, false).bytes, wanted);
    if (found !== null) return found;
    unmarked ??= spaced(content, true);
    return findIn(unmarked, spaced(bytes, true).bytes, wanted);
  };
}

/** A text with single spaces in place of white space. `starts` has where each line begins in it. */
type Spaced = { bytes: Buffer; starts: Uint32Array };

const SPACE = 0x20;
const LINE_FEED = 0x0a;

/** `skipsMarks` leaves out the marks that begin lines. */
function spaced(content: Uint8Array, skipsMarks: boolean): Spaced {
  const bytes = Buffer.allocUnsafe(content.length);
  const starts = new Uint32Array(linesIn(content));
  let length = 0;
  let line = 0;
  let isSpaced = false;
  let isLineStart = true;
  for (let at = 0; at < content.length;) {
    const byte = content[at] ?? 0;
    const skipped: number = whiteAt(content, at) || (skipsMarks && isLineStart ? markAt(content, at) : 0);
    at += skipped || 1;
    if (skipped === 0) {
      if (isSpaced && length > 0) bytes[length++] = SPACE;
      bytes[length++] = byte;
    } else if (byte === LINE_FEED) starts[++line] = length;
    isSpaced = skipped > 0;
    isLineStart = byte === LINE_FEED || (isLineStart && isSpaced);
  }
  return { bytes: bytes.subarray(0, length), starts };
}

function linesIn(content: Uint8Array): number {
  let lines = 1;
  for (let at = content.indexOf(LINE_FEED); at >= 0; at = content.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

/** How many bytes of white space are there: one character's in UTF-8, or none. */
function whiteAt(content: Uint8Array, at: number): number {
  const first = content[at] ?? 0;
  if (first < 0x80) return first === SPACE || (first >= 0x09 && first <= 0x0d) ? 1 : 0;
  const second = content[at + 1];
  // U+00A0
  if (first === 0xc2) return second === 0xa0 ? 2 : 0;
  const third = content[at + 2] ?? 0;
  switch (first) {
    case 0xe2: {
      // U+2000 to U+200A, U+2028, U+2029, U+202F, and U+205F
      const isSpace = third <= 0x8a || third === 0xa8 || third === 0xa9 || third === 0xaf;
      return (second === 0x80 && third >= 0x80 && isSpace) || (second === 0x81 && third === 0x9f) ? 3 : 0;
    }
    // U+1680, U+3000, and the mark of the order of bytes
    case 0xe1:
      return second === 0x9a && third === 0x80 ? 3 : 0;
    case 0xe3:
      return second === 0x80 && third === 0x80 ? 3 : 0;
    case 0xef:
      return second === 0xbb && third === 0xbf ? 3 : 0;
    default:
      return 0;
  }
}

/**
 * What begins lines of comments and quotes, in the languages that are there. Some of it only counts
 * alone, because words begin with it, too: `--flag`.
 */
const MARK = /(?:\/\/|\/\*|<!--)[/*!]*|#+!?|>+|;+|"""|'''|(?:\*+\/?|---*>?|%+|\.\.|[|'!]|REM|rem)(?=\s|$)/y;
/** Longer ones are drawings. Their rest counts as words. */
const MAX_MARK_BYTES = 16;
/** The bytes that marks begin with. */
const FIRST = new Set(Buffer.from("/<*#>-;%\"'.|!Rr"));

/** How many bytes of a mark are there, or none. */
function markAt(content: Uint8Array, at: number): number {
  if (!FIRST.has(content[at] ?? 0)) return 0;
  MARK.lastIndex = 0;
  const text = String.fromCharCode(...content.subarray(at, at + MAX_MARK_BYTES));
  return MARK.exec(text)?.[0].length ?? 0;
}

function findIn({ bytes, starts }: Spaced, words: Buffer, { isCut, hint, counts }: Wanted): Lines | null {
  if (words.length === 0) return null;
  let found: Lines | null = null;
  let at = bytes.indexOf(words);
  for (let matches = 0; at >= 0 && matches < MAX_MATCHES; matches += 1) {
    const end = at + words.length;
    if (!splitsWord(bytes, at) && (isCut || !splitsWord(bytes, end))) {
      const place = { from: lineAt(starts, at), to: lineAt(starts, end - 1) };
      const distance = ({ from }: Lines) => Math.abs(from - (hint ?? 1));
      if ((found === null || distance(place) < distance(found)) && counts(place)) found = place;
    }
    at = bytes.indexOf(words, end);
  }
  return found;
}

const isWord = (byte = 0) => /\w/.test(String.fromCharCode(byte));
const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;
const DOT = 0x2e;

/** True between two letters or digits, and in a number like 1.5: `port 40` isn't in `port 4000`. */
function splitsWord(bytes: Buffer, at: number): boolean {
  const [before, last, next, after] = [bytes[at - 2], bytes[at - 1], bytes[at], bytes[at + 1]];
  if (isWord(last) && isWord(next)) return true;
  return (
    (isDigit(last) && next === DOT && isDigit(after)) || (isDigit(before) && last === DOT && isDigit(next))
  );
}

/** The line that has the byte at this place, counted from 1. */
function lineAt(starts: Uint32Array, at: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
