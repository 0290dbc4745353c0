import type { DiffSide } from "./line-comment.ts";

/** A line of a file's hunks. */
export type PatchLine = {
  /** Its number on each side. Null if it isn't on that side. */
  numbers: Record<DiffSide, number | null>;
  /** The number of lines below the first hunk header (docs.github.com/rest/pulls/comments). */
  position: number;
  /** Its hunk up to this line. */
  hunk: string;
  text: string;
};

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Returns the lines of a patch that a comment can be on. */
export function linesOfPatch(patch: string): PatchLine[] {
  const found: PatchLine[] = [];
  let hunk: string[] = [];
  let left = 0;
  let right = 0;
  for (const [index, line] of patch.split("\n").entries()) {
    const header = HEADER.exec(line);
    if (header !== null) {
      hunk = [line];
      left = Number(header[1]);
      right = Number(header[3]);
      continue;
    }
    hunk.push(line);
    const mark = line.charAt(0);
    if (mark === "\\") continue;
    const numbers = { LEFT: mark === "+" ? null : left, RIGHT: mark === "-" ? null : right };
    found.push({ numbers, position: index, hunk: hunk.join("\n"), text: line.slice(1) });
    if (mark !== "+") left += 1;
    if (mark !== "-") right += 1;
  }
  return found;
}

/** Returns the new number of a line of the old file. Null if the patch changes the line. */
export function lineAfter(patch: string, line: number): number | null {
  let offset = 0;
  let left = 0;
  let right = 0;
  let end = 0;
  for (const text of patch.split("\n")) {
    const header = HEADER.exec(text);
    if (header !== null) {
      const [, start = "", count = "1", newStart = "", newCount = "1"] = header;
      // A hunk that only adds comes after the line that it names.
      const first = Number(start) + (count === "0" ? 1 : 0);
      if (line < first) return line + offset;
      left = first;
      right = Number(newStart) + (newCount === "0" ? 1 : 0);
      end = first + Number(count);
      offset += Number(newCount) - Number(count);
      continue;
    }
    if (line >= end) continue;
    const mark = text.charAt(0);
    if (mark === " " && left === line) return right;
    if (mark === "-" && left === line) return null;
    if (mark === " " || mark === "-") left += 1;
    if (mark === " " || mark === "+") right += 1;
  }
  return line + offset;
}
