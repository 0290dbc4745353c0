import type { JobDiff } from "../../../shared/contract/diff.ts";
import { DIFF_LIMITS } from "../../../shared/contract/diff.ts";
import { counted, cut, lineOfWords, plainLine } from "../../../shared/text/text.ts";
import { visibleDiff } from "./change-text.ts";
import { readDiffPages, type DiffPage, type DiffRun } from "./diff-pages.ts";

/** The most pages and lines that say what changed, and the most characters of their parts. */
const PAGES_MAX = 10;
const LINES_MAX = 30;
const PATH_MAX = 160;
const HEADING_MAX = 80;
const SIDE_MAX = 60;
/** A run with more words on one side isn't compared word by word. */
const COMPARED_MAX = 300;
/** Words that stay are no help where fewer than half of a longer run do. */
const REWRITE_MIN = 8;
/** Shorter runs may be equal by chance. */
const MOVED_MIN = 4;

/** The changed words of a page: untrusted, bounded plain text. */
export type PageWords = {
  path: string;
  /** Says what happened to the page as a whole, or null. */
  note: string | null;
  /** Its changes under their headings, a line each. `heading` is null where none is known. */
  parts: { heading: string | null; lines: string[] }[];
  /** In how many more places it changes. */
  more: number;
};

/** The changed words of a change, page by page. `more` is the number of pages that are left out. */
export type ChangedWords = { pages: PageWords[]; more: number };

/** Says a change by its words: `recieve → receive`. It has no pages if the diff isn't git's. */
export function changedWords({ diff, fileCount }: Pick<JobDiff, "diff" | "fileCount">): ChangedWords {
  const pages = readDiffPages(visibleDiff(diff));
  const moved = movedRuns(pages);
  let room = LINES_MAX;
  const shown = pages.slice(0, PAGES_MAX).map((page, n) => {
    // Each page that follows keeps a line.
    const words = wordsOfPage(page, Math.max(1, room - (Math.min(pages.length, PAGES_MAX) - n - 1)), moved);
    room -= words.parts.reduce((sum, { lines }) => sum + lines.length, 0);
    return words;
  });
  return { pages: shown, more: shown.length === 0 ? 0 : Math.max(pages.length, fileCount) - shown.length };
}

function wordsOfPage(page: DiffPage, room: number, moved: MovedRuns): PageWords {
  const named = { path: cut(page.path.replaceAll("\n", " "), PATH_MAX), parts: [], more: 0 };
  const { isBinary, status, runs } = page;
  if (isBinary) return { ...named, note: status === "changed" ? "not text" : `${status}, not text` };
  if (status !== "changed") {
    const [from] = status === "new" ? runs.flatMap((run) => moved.goneFrom(run)) : [];
    const size = counted(linesOf(runs), "line");
    if (from !== undefined && runs.length === 1) return { ...named, note: `was ${cut(from, PATH_MAX)}` };
    return { ...named, note: status === "new" ? `new page, ${size}` : `removed, ${size}` };
  }
  const parts: PageWords["parts"] = [];
  let [left, more] = [room, 0];
  for (const run of runs) {
    if (left === 0) {
      more += 1;
      continue;
    }
    const all = linesOfRun(run, page.path, moved);
    const lines = all.slice(0, left);
    left -= lines.length;
    more += all.length - lines.length;
    const last = parts.at(-1);
    const heading = run.heading === null ? null : plainLine(run.heading, HEADING_MAX);
    if (lines.length === 0) continue;
    if (last?.heading === heading) last.lines.push(...lines);
    else parts.push({ heading, lines });
  }
  const isSilent = parts.length === 0 && more === 0;
  return { ...named, note: isSilent ? "only spaces and line breaks" : null, parts, more };
}

function linesOf(runs: readonly DiffRun[]): number {
  return runs.reduce((sum, { added, removed }) => sum + added.length + removed.length, 0);
}

/** Text that one page loses and another place gets. */
type MovedRuns = { goneFrom: (added: DiffRun) => string[]; goneTo: (removed: DiffRun) => string[] };

function movedRuns(pages: readonly DiffPage[]): MovedRuns {
  const removed = new Map<string, string>();
  const added = new Map<string, string>();
  for (const { path, runs } of pages) {
    for (const run of runs) {
      const key = movedKey(run);
      if (key !== null) (run.added.length === 0 ? removed : added).set(key, path);
    }
  }
  const find = (places: ReadonlyMap<string, string>, run: DiffRun): string[] => {
    const path = places.get(movedKey(run) ?? "");
    return path === undefined ? [] : [path];
  };
  return { goneFrom: (run) => find(removed, run), goneTo: (run) => find(added, run) };
}

/** The words of a run that only adds or only removes, or null. */
function movedKey({ added, removed }: DiffRun): string | null {
  if (added.length > 0 && removed.length > 0) return null;
  const all = wordsIn([...added, ...removed]);
  return all.length < MOVED_MIN ? null : all.join(" ");
}

function linesOfRun(run: DiffRun, path: string, moved: MovedRuns): string[] {
  const [before, after] = [wordsIn(run.removed), wordsIn(run.added)];
  if (run.removed.length === 0) {
    const [from] = moved.goneFrom(run);
    if (after.length === 0) return [];
    if (from !== undefined) return [`moved${from === path ? "" : ` from ${from}`}: ${quoted(after)}`];
    return [`added: ${quoted(after, run.added.length)}`];
  }
  if (run.added.length === 0) {
    const [to] = moved.goneTo(run);
    if (before.length === 0 || to === path) return [];
    if (to !== undefined) return [`moved to ${to}: ${quoted(before)}`];
    return [`removed: ${quoted(before, run.removed.length)}`];
  }
  const changes = changesBetween(before, after);
  const isCut = [...run.removed, ...run.added].some(({ length }) => length >= DIFF_LIMITS.lineChars);
  if (changes.length === 0) return isCut ? ["a change at the end of a long line"] : [];
  return changes.map(lineOfChange);
}

function wordsIn(lines: readonly string[]): string[] {
  return lines.join("\n").match(/\S+/g) ?? [];
}

type WordChange = { before: string[]; after: string[] };

function lineOfChange({ before, after }: WordChange): string {
  if (before.length === 0) return `added: ${quoted(after)}`;
  if (after.length === 0) return `removed: ${quoted(before)}`;
  const [from, to] = narrowed(before.join(" "), after.join(" "));
  return `${lineOfWords(from, SIDE_MAX)} → ${lineOfWords(to, SIDE_MAX)}`;
}

function quoted(all: readonly string[], lines = 1): string {
  const size = lines > 1 ? ` (${counted(lines, "line")})` : "";
  return `“${lineOfWords(all.join(" "), SIDE_MAX)}”${size}`;
}

const OPENING = `"'\`*_{<“‘`;
const CLOSING = `"'\`*_>}”’.,;:!?`;
/** The number of shared characters before a change in long words that stay, for orientation. */
const SHARED = 15;

/** Both sides without shared punctuation around them, and without most of what long words share. */
function narrowed(before: string, after: string): [string, string] {
  const bare = withoutShell(before, after, `${OPENING}([`, `${CLOSING})]`);
  // Part of a link says less than the link.
  return withoutShared(...(bare.every(isPaired) ? bare : withoutShell(before, after, OPENING, CLOSING)));
}

/** True if as many brackets open as close. */
function isPaired(text: string): boolean {
  const count = (mark: string) => text.split(mark).length;
  return count("(") === count(")") && count("[") === count("]");
}

/** Both sides without what they share of these characters at their begin and end. */
function withoutShell(before: string, after: string, opening: string, closing: string): [string, string] {
  const shared = (
    sides: readonly [string, string],
    at: (n: number) => number,
    marks: string,
    max: number,
  ) => {
    let n = 0;
    const [one, other] = sides;
    while (n < max && one.at(at(n)) === other.at(at(n)) && marks.includes(one.at(at(n)) ?? "\n")) n += 1;
    return n;
  };
  const least = Math.min(before.length, after.length);
  const start = shared([before, after], (n) => n, opening, least - 1);
  const end = shared([before, after], (n) => -1 - n, closing, least - start - 1);
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

function withoutShared(before: string, after: string): [string, string] {
  if (Math.max(before.length, after.length) <= SIDE_MAX) return [before, after];
  let same = 0;
  while (same < Math.min(before.length, after.length) && before[same] === after[same]) same += 1;
  if (same <= SHARED) return [before, after];
  const from = same - SHARED;
  const rest = (text: string) => `…${text.slice(from).replace(/^[\udc00-\udfff]/, "")}`;
  return [rest(before), rest(after)];
}

/** The changes from one list of words to another, in order. */
function changesBetween(before: readonly string[], after: readonly string[]): WordChange[] {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  const least = Math.min(before.length, after.length) - start;
  while (end < least && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [from, to] = [before, after].map((all) => all.slice(start, all.length - end));
  if (from === undefined || to === undefined || from.length + to.length === 0) return [];
  const whole = [{ before: from, after: to }];
  const most = Math.max(from.length, to.length);
  if (from.length === 0 || to.length === 0 || most > COMPARED_MAX) return whole;
  const { changes, kept } = compared(from, to);
  return most >= REWRITE_MIN && kept < most / 2 ? whole : changes;
}

/** Compares by the longest list of words that both have. `kept` is its length. */
function compared(before: readonly string[], after: readonly string[]) {
  const width = after.length + 1;
  const common = new Uint16Array((before.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const isSame = before[i] === after[j];
      common[i * width + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const changes: WordChange[] = [];
  let open: WordChange | null = null;
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      open = null;
      i += 1;
      j += 1;
      continue;
    }
    if (open === null) changes.push((open = { before: [], after: [] }));
    if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) {
      open.before.push(before[i] ?? "");
      i += 1;
    } else {
      open.after.push(after[j] ?? "");
      j += 1;
    }
  }
  return { changes, kept: at(0, 0) };
}
