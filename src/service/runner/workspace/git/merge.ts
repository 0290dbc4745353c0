import type { GitRunner } from "./git.ts";

/** What one side of a merge has of a file. */
type Side = { mode: string; oid: string };

/**
 * A file that git couldn't merge. Each side is null if it has no such file, and so is `before` if
 * there was none of this name when the two parted.
 */
export type Conflict = { path: string; before: Side | null; ours: Side | null; theirs: Side | null };

/**
 * The files of a merge, and those that git couldn't merge. In `tree`, these have both versions
 * between marks, or the only one that there is.
 */
export type MergedTree = { tree: string; conflicts: Conflict[] };

/** A merge of the base branch into a job's, and where the two had parted. */
export type BranchMerge = MergedTree & { parted: string; job: string; base: string };

/** What the lines around a conflict begin with. */
const MARKS = ["<<<<<<<", "|||||||", ">>>>>>>"];
const BETWEEN = "=======";
/** What may stand before a line that is indented, in a list or in a quote. */
const INDENT = /^(?:\s|[-*+>]\s|\d+[.)]\s)+/;
const STAGE = /^(?<mode>\d{6}) (?<oid>[0-9a-f]+) (?<stage>[123])\t(?<path>.*)$/s;

/** Merges two commits. Their histories must be here from where they part. */
export async function mergeCommits(git: GitRunner, ours: string, theirs: string): Promise<MergedTree> {
  const options = ["--write-tree", "--no-messages", "-z"];
  const style = ["-c", "merge.conflictStyle=diff3"];
  const [tree = "", ...listed] = await git.lines([...style, "merge-tree", ...options, ours, theirs], {
    okCodes: [0, 1],
  });
  const conflicts = new Map<string, Conflict>();
  for (const line of listed) {
    const { mode = "", oid = "", stage, path } = STAGE.exec(line)?.groups ?? {};
    if (path === undefined) continue;
    const found = conflicts.get(path) ?? { path, before: null, ours: null, theirs: null };
    if (stage === "1") found.before = { mode, oid };
    if (stage === "2") found.ours = { mode, oid };
    if (stage === "3") found.theirs = { mode, oid };
    conflicts.set(path, found);
  }
  return { tree, conflicts: [...conflicts.values()] };
}

/**
 * True if a text has marks of a conflict between two versions, which came from `before`, however
 * they are indented. Lines that a version has itself are none: it may show such marks as an
 * example, or underline headings with equals signs, and both versions may have brought a heading.
 */
export function hasMarks(text: string, versions: readonly [string, string], before: string): boolean {
  const own = new Set(versions.flatMap(linesOf));
  const isMark = (line: string) => MARKS.some((mark) => line === mark || line.startsWith(`${mark} `));
  if (linesOf(text).some((line) => isMark(line) && !own.has(line))) return true;
  const count = (version: string) => linesOf(version).filter((line) => line === BETWEEN).length;
  const [ours, theirs] = [count(versions[0]), count(versions[1])];
  return count(text) > Math.max(ours, theirs, ours + theirs - count(before));
}

/** The lines without their indentation. */
function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.replace(INDENT, "").trimEnd());
}
