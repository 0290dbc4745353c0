import { markdownRanges, touches } from "./markdown-ranges.ts";
import type { Edited } from "./spelling.ts";

/** A text to replace, and its replacement, as a person wrote them. */
export type Replacement = { from: string; to: string };

const LINK_TARGET =
  /\]\(\s*<?[^\s()<>]+|^[ \t]{0,3}\[[^\]\n]+\]:[ \t]*\S+|\b[a-z][a-z0-9+.-]*:\/\/[^\s<>)\]"'`]+/gim;
const FRONT_MATTER_KEY = /^[\w-]+:/gm;

/**
 * Replaces a text that a person named wherever it stands alone. This includes code, because a
 * command is often the thing that is out of date. It excludes keys of the front matter, and also
 * addresses and link targets, unless the text looks like one.
 */
export function replaceLiterally(text: string, isMdx: boolean, { from, to }: Replacement): Edited {
  if (from === "" || from === to) return { text, edits: [] };
  const untouchable = looksLikeAddress(from) ? [] : addressRanges(text, isMdx);
  let result = "";
  let count = 0;
  let at = 0;
  for (let start = text.indexOf(from); start >= 0; start = text.indexOf(from, start)) {
    const end = start + from.length;
    const isFree =
      standsAlone(text, start, end) &&
      !isReplacedAlready(text, start, from, to) &&
      !touches(untouchable, { start, end });
    if (isFree) {
      result += text.slice(at, start) + to;
      at = end;
      count += 1;
    }
    start = isFree ? end : start + 1;
  }
  return { text: result + text.slice(at), edits: count === 0 ? [] : [{ from, to, count }] };
}

function standsAlone(text: string, start: number, end: number): boolean {
  const isWord = (letter: string | undefined) => letter !== undefined && /[\p{L}\p{M}\p{N}_]/u.test(letter);
  const startsInside = isWord(text[start]) && isWord(text[start - 1]);
  const endsInside = isWord(text[end - 1]) && isWord(text[end]);
  return !startsInside && !endsInside;
}

/**
 * True for "CLI" inside "Tidepool CLI" if "CLI" is to become "Tidepool CLI": that was done before.
 */
function isReplacedAlready(text: string, start: number, from: string, to: string): boolean {
  for (let inside = to.indexOf(from); inside >= 0; inside = to.indexOf(from, inside + 1)) {
    if (text.startsWith(to, start - inside) && start >= inside) return true;
  }
  return false;
}

function addressRanges(text: string, isMdx: boolean) {
  const { code } = markdownRanges(text, isMdx);
  const front = /^---[ \t]*\r?\n[\s\S]*?\n---/.exec(text)?.[0] ?? "";
  return [
    ...front.matchAll(FRONT_MATTER_KEY),
    ...[...text.matchAll(LINK_TARGET)].filter(
      // In a code block, `](` doesn't belong to a link.
      ({ index, 0: { length } }) =>
        !touches(code, { start: index, end: index + length }) ||
        /:\/\//.test(text.slice(index, index + length)),
    ),
  ]
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length }))
    .toSorted((one, other) => one.start - other.start);
}

function looksLikeAddress(text: string): boolean {
  return /\/|\.(?:md|mdx|html?|com|org|net|io|dev|example)\b/i.test(text);
}
