import { isUtf8 } from "node:buffer";
import { diffArrays } from "diff";

/** A page as it was, and as the agent left it. */
export type PageBytes = {
  /** Null if it is new. */
  before: Buffer | null;
  now: Buffer;
  /** What `.gitattributes` say of its line ends. Null if they say nothing. */
  stored: StoredEnds | null;
  /** Pages that are beside a new one. */
  siblings: readonly Buffer[];
  /** The time for comparing lines. */
  withinMs: number;
};

/** Git stores `text` with line feeds, and doesn't touch what is `as-is`. */
export type StoredEnds = "text" | "as-is";

/**
 * `damaged` means that the page wasn't UTF-8, and that the agent's editor lost letters of it.
 * `bytes` is null if the page is right as the agent left it.
 */
type KeptBytes = { isDamaged: boolean; bytes: Buffer | null };

/** Each byte is a character, so that every encoding that ASCII is a part of stays as it is. */
const BYTES = "latin1";
const MARK = "\u00ef\u00bb\u00bf";
const LOST = Buffer.from("\ufffd");
const UTF_16 = [Buffer.of(0xff, 0xfe), Buffer.of(0xfe, 0xff)];
const ANY_END = /\r\n|\n|\r/g;
/** Lines of a larger page with mixed line ends aren't compared. */
const MAX_MIXED_BYTES = 2 * 1024 * 1024;
/** Beyond that, the time and the memory of a comparison would be its author's choice. */
const MAX_EDITS = 2000;

/**
 * Gives a page the line ends, the byte order mark and the end that it had before, wherever its text
 * is the same, and its new lines the ends of most others. If nothing else changed in the page, that
 * is the change, and stays. A new page gets the line ends that `.gitattributes` or its siblings
 * have.
 */
export function keepBytes({ before, now, stored, siblings, withinMs }: PageBytes): KeptBytes {
  if (before !== null && isDamaged(before, now)) return { isDamaged: true, bytes: null };
  const bytes = (kept: string | null) => ({
    isDamaged: false,
    bytes: kept === null ? null : Buffer.from(kept, BYTES),
  });
  if (!isText(now) || (before !== null && !isText(before))) return bytes(null);
  const is = now.toString(BYTES);
  if (is === "") return bytes(null);
  const was = before?.toString(BYTES) ?? "";
  const page = partsOf(was);
  if (page.text === "") return bytes(newPage(is, stored, siblings));
  const { text: written, tail } = partsOf(is);
  const text = withFeeds(written);
  if (text === withFeeds(page.text)) {
    // Git would take a line feed for each of these ends.
    const isStored = stored === "text" && !was.includes("\r");
    return bytes(isStored ? is.replaceAll("\r\n", "\n") : null);
  }
  const ends = endsIn(was);
  const end = mostOf(ends) ?? newEnd(stored, siblings) ?? mostOf(endsIn(is)) ?? "\n";
  if (ends.size > 1 && was.length + is.length > MAX_MIXED_BYTES) return bytes(null);
  const own =
    ends.size > 1 ? withOwnEnds(page, { mark: page.mark, text: written, tail }, end, withinMs) : null;
  const kept = own ?? page.mark + text.replaceAll("\n", end);
  return bytes(kept + tailFor(page, { text, tail }, end));
}

/** True if letters were lost because the page was read as UTF-8, and isn't. */
function isDamaged(before: Buffer, now: Buffer): boolean {
  return !isUtf8(before) && countOf(now, LOST) > countOf(before, LOST);
}

function countOf(bytes: Buffer, part: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** As git decides it (`convert.c`: `convert_is_binary`), but for lone carriage returns. */
export function isText(bytes: Buffer): boolean {
  const isUtf16 = UTF_16.some((mark) => bytes.indexOf(mark) === 0);
  if (isUtf16 || bytes.includes(0)) return false;
  let odd = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte >= 32 && byte !== 127) continue;
    // Backspace, tab, line feed, form feed, carriage return, escape; and the end of a DOS file.
    const isUsual = (byte >= 8 && byte <= 13 && byte !== 11) || byte === 27;
    if (!isUsual && !(byte === 26 && at === bytes.length - 1)) odd += 1;
  }
  return odd <= (bytes.length - odd) / 128;
}

/** A page: its byte order mark, its text up to the last line with words, and the ends after it. */
type Parts = { mark: string; text: string; tail: string };

function partsOf(all: string): Parts {
  const mark = all.startsWith(MARK) ? MARK : "";
  let end = all.length;
  while (end > mark.length && (all[end - 1] === "\n" || all[end - 1] === "\r")) end -= 1;
  return { mark, text: all.slice(mark.length, end), tail: all.slice(end) };
}

function withFeeds(text: string): string {
  return text.replace(ANY_END, "\n");
}

/** How often each line end occurs, the first one first. */
function endsIn(text: string): Map<string, number> {
  const ends = new Map<string, number>();
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char !== "\n" && char !== "\r") continue;
    const end = char === "\r" && text.charAt(at + 1) === "\n" ? "\r\n" : char;
    at += end.length - 1;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  return ends;
}

/** The end that occurs most often; if there are several, the first of them. */
function mostOf(ends: ReadonlyMap<string, number>): string | null {
  const most = Math.max(0, ...ends.values());
  return [...ends].find(([, count]) => count === most)?.[0] ?? null;
}

function newPage(is: string, stored: StoredEnds | null, siblings: readonly Buffer[]): string | null {
  const end = newEnd(stored, siblings);
  if (end === null || !/[\r\n]/.test(is)) return null;
  // Git only replaces what ends a line on Windows.
  return stored === "text" ? is.replaceAll("\r\n", end) : is.replace(ANY_END, end);
}

/** The line end that a new page should have, or null if nothing says so. */
function newEnd(stored: StoredEnds | null, siblings: readonly Buffer[]): string | null {
  if (stored !== null) return stored === "text" ? "\n" : null;
  const votes = new Map<string, number>();
  for (const sibling of siblings) {
    const end = isText(sibling) ? mostOf(endsIn(sibling.toString(BYTES))) : null;
    if (end !== null) votes.set(end, (votes.get(end) ?? 0) + 1);
  }
  return mostOf(votes);
}

/** What follows the page's last line. Lines after the old end bring no empty ones of it along. */
function tailFor(old: Parts, fresh: Omit<Parts, "mark">, end: string): string {
  if (endsIn(old.tail).size <= 1 && withFeeds(old.tail).length <= 1) return old.tail;
  const last = withFeeds(old.text).split("\n").at(-1);
  const lines = fresh.text.split("\n");
  const isAppendedTo = lines.at(-1) !== last && lines.includes(last ?? "");
  return isAppendedTo ? end.repeat(Math.max(1, withFeeds(fresh.tail).length)) : old.tail;
}

type Line = { text: string; end: string };
/** A place where lines differ: `gone` lines from `from` on, and `come` lines from `at` on. */
type Hunk = { from: number; gone: number; at: number; come: number };

/** The mark and the text of `fresh`, with the ends that its unchanged lines have in `old`. */
function withOwnEnds(old: Parts, fresh: Parts, end: string, withinMs: number): string {
  const was = linesOf(old);
  const is = linesOf(fresh);
  const within = { was, is, withinMs: withinMs / 2 };
  const loose = differences(within, ({ text }) => text);
  const exact = differences(within, (line) => line.text + line.end);
  // An editor that keeps line ends has changed no more lines than those with other words.
  const isExact = sizeOf(exact) <= sizeOf(loose);
  const ends: string[] = [];
  let next = 0;
  for (const { from, gone, at, come } of [...(isExact ? exact : loose), endOf(was, is)]) {
    const same = was.slice(next, from).map((line) => line.end || end);
    const replaced = was.slice(from, from + gone).map((line) => line.end || end);
    const added = is
      .slice(at, at + come)
      .map((line, nth) => (isExact && replaced.includes(line.end) ? line.end : (replaced[nth] ?? end)));
    for (const each of [...same, ...added]) ends.push(each);
    next = from + gone;
  }
  return is.map(({ text }, nth) => (nth === is.length - 1 ? text : text + (ends[nth] ?? end))).join("");
}

function linesOf({ mark, text, tail }: Parts): Line[] {
  const ends = text.match(ANY_END) ?? [];
  const last = tail.match(ANY_END)?.[0] ?? "";
  // The mark is a part of the first line.
  return (mark + text).split(ANY_END).map((line, nth) => ({ text: line, end: ends[nth] ?? last }));
}

function sizeOf(hunks: readonly Hunk[]): number {
  return hunks.reduce((sum, { gone, come }) => sum + gone + come, 0);
}

function endOf(was: readonly Line[], is: readonly Line[]): Hunk {
  return { from: was.length, gone: 0, at: is.length, come: 0 };
}

/** Where two pages differ. If that is too much to be compared, it is all but start and end. */
function differences(
  { was, is, withinMs }: { was: readonly Line[]; is: readonly Line[]; withinMs: number },
  key: (line: Line) => string,
): Hunk[] {
  const one = was.map(key);
  const other = is.map(key);
  const found = diffArrays(one, other, { maxEditLength: MAX_EDITS, timeout: Math.max(1, withinMs) });
  if (found === undefined) return [middle(one, other)];
  const hunks: Hunk[] = [];
  const place = { from: 0, at: 0 };
  let hunk: Hunk | null = null;
  for (const { added, removed, count } of found) {
    if (!added && !removed) hunk = null;
    else {
      if (hunk === null) hunks.push((hunk = { ...place, gone: 0, come: 0 }));
      if (removed) hunk.gone += count;
      else hunk.come += count;
    }
    if (!added) place.from += count;
    if (!removed) place.at += count;
  }
  return hunks;
}

function middle(one: readonly string[], other: readonly string[]): Hunk {
  const most = Math.min(one.length, other.length);
  let from = 0;
  while (from < most && one[from] === other[from]) from += 1;
  let same = 0;
  while (same < most - from && one.at(-1 - same) === other.at(-1 - same)) same += 1;
  return { from, gone: one.length - from - same, at: from, come: other.length - from - same };
}
