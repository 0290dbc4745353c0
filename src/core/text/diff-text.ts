import type { JobDiff } from "../ports/job-service.ts";
import { cut } from "./text.ts";

/** The most lines and files of a change that a message shows, and the longest line. */
const LINES_MAX = 40;
const FILES_MAX = 20;
const LINE_MAX = 160;

/** Characters that don't show, or change how the text around them reads. Tabs stay. */
const UNSEEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;
/** Lines that say again which file it is. */
const REPEATS = /^(?:index |--- |\+\+\+ )/;

/** The text with U+FFFD in place of characters that don't show. */
export function visibleDiff(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replace(UNSEEN, "\uFFFD");
}

/** The lines that a message has room for. */
export function diffLines({ diff }: Pick<JobDiff, "diff">): string[] {
  return allLines(diff)
    .slice(0, LINES_MAX)
    .map((line) => cut(line, LINE_MAX));
}

/** True if {@link diffLines} leaves something out. */
export function isLongDiff({ diff, isCut }: JobDiff): boolean {
  const lines = allLines(diff);
  return isCut || lines.length > LINES_MAX || lines.some(({ length }) => length > LINE_MAX);
}

function allLines(diff: string): string[] {
  let isHead = false;
  return visibleDiff(diff)
    .trimEnd()
    .split("\n")
    .filter((line) => {
      // Only heads have lines that begin like this: a file's lines begin with a sign.
      if (line.startsWith("diff --git ")) isHead = true;
      if (line.startsWith("@@")) isHead = false;
      return !(isHead && REPEATS.test(line));
    });
}

/** The changed files, a line each: `+12 −4 docs/install.md`. */
export function fileLines({ files, fileCount }: JobDiff): string[] {
  const shown = files.slice(0, FILES_MAX).map(({ path, status, additions, deletions }) => {
    const size = additions === null || deletions === null ? "" : `+${additions} −${deletions} `;
    const what = status === "changed" ? "" : ` (${status})`;
    return cut(visibleDiff(`${size}${path}`).replaceAll("\n", " "), LINE_MAX) + what;
  });
  const more = fileCount - shown.length;
  return more > 0 ? [...shown, `… and ${more.toLocaleString("en-US")} more`] : shown;
}

/** The size of a whole change, for `diffText`. Its lines are null if not all are known. */
export function sizeOf({ files, fileCount }: JobDiff) {
  const sum = (of: "additions" | "deletions") => files.reduce((total, file) => total + (file[of] ?? 0), 0);
  const isAll = files.length === fileCount;
  return {
    files: fileCount,
    additions: isAll ? sum("additions") : null,
    deletions: isAll ? sum("deletions") : null,
  };
}
