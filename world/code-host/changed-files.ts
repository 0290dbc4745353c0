import type { Repository } from "./repository.ts";

export type ChangedFile = {
  sha: string;
  filename: string;
  previousFilename: string | null;
  status: "added" | "removed" | "modified" | "renamed" | "copied" | "changed";
  additions: number;
  deletions: number;
  /** The hunks of a unified diff. Null for a binary file, and for one that was only renamed. */
  patch: string | null;
};

const STATUSES: Record<string, ChangedFile["status"]> = {
  A: "added",
  D: "removed",
  M: "modified",
  R: "renamed",
  C: "copied",
};

/** Resolves to the changes from one commit to another, file by file, in git's order. */
export async function changedFiles(repository: Repository, from: string, to: string): Promise<ChangedFile[]> {
  const { fields, diff } = await repository.changes(from, to);
  // No line inside a hunk begins like this. Those begin with " ", "+", "-", "@" or "\".
  const patches = diff.split(/^diff --git .*\n/m).slice(1);
  const files: ChangedFile[] = [];
  let at = 0;
  while (fields[at]?.startsWith(":") === true) {
    const [, , before = "", after = "", letter = "M"] = (fields[at] ?? "").split(" ");
    const status = STATUSES[letter.charAt(0)] ?? "changed";
    const hasTwoPaths = status === "renamed" || status === "copied";
    const first = fields[at + 1] ?? "";
    const filename = hasTwoPaths ? (fields[at + 2] ?? "") : first;
    const patch = patches[files.length] ?? "";
    const hunks = patch.search(/^@@ /m);
    files.push({
      sha: status === "removed" ? before : after,
      filename,
      previousFilename: hasTwoPaths ? first : null,
      status,
      additions: 0,
      deletions: 0,
      patch: hunks < 0 ? null : patch.slice(hunks).replace(/\n$/, ""),
    });
    at += hasTwoPaths ? 3 : 2;
  }
  const counts = readCounts(fields.slice(at));
  return files.map((file) => ({ ...file, ...counts.get(file.filename) }));
}

type Counts = { additions: number; deletions: number };

/**
 * Reads the output of `--numstat -z`: `added TAB deleted TAB path`. For a rename, it is `added TAB
 * deleted TAB`, the old path, and the new path.
 */
function readCounts(fields: string[]): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  let at = 0;
  while (at < fields.length) {
    const [additions = "0", deletions = "0", ...path] = (fields[at] ?? "").split("\t");
    const name = path.join("\t");
    const isRename = name === "";
    counts.set(isRename ? (fields[at + 2] ?? "") : name, {
      // A binary file has "-" here.
      additions: Number.parseInt(additions, 10) || 0,
      deletions: Number.parseInt(deletions, 10) || 0,
    });
    at += isRename ? 3 : 1;
  }
  return counts;
}
