import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { git } from "../git.ts";

/** A file that a commit changes. The ids of its contents are null where it isn't there. */
export type ChangedFile = { path: string; before: string | null; after: string | null };

/**
 * A commit on the default branch, against the one before it there. A merge is all that it merged.
 */
export type Landed = {
  id: string;
  parent: string;
  author: string;
  /** The date and time when it was committed. */
  at: Date;
  /** The first line of its message, and the rest. */
  subject: string;
  body: string;
  files: ChangedFile[];
};

const FORMAT = "--format=%x01%H%x00%P%x00%an <%ae>%x00%cI%x00%B%x00";
const NOTHING = /^0+$/;

/** The name of a repository by its address or path, as in a task's name. */
export function nameOfRepository(repository: string): string {
  const parts = repository.split(/[/\\:]/).filter((part) => !/^(?:\.git|repo(?:\.git)?|)$/.test(part));
  // An address names the owner, too.
  const isAddress = /^\w+:\/\/|^[\w.-]+@[\w.-]+:/.test(repository);
  const named = parts.slice(isAddress ? -2 : -1).join("-");
  const plain = basename(named, ".git")
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "-");
  return plain.replace(/^-+|-+$/g, "") || "docs";
}

/**
 * Keeps a copy of a repository's history in a folder, so that its tasks run without the original
 * later. A copy that is there is brought up to date. Resolves to its place. Rejects with an
 * `EvalOptionError`.
 */
export async function keepHistory(repository: string, folder: string): Promise<string> {
  const gitDir = join(folder, `${nameOfRepository(repository)}.git`);
  await mkdir(folder, { recursive: true });
  if (existsSync(gitDir)) {
    const what = ["fetch", "--quiet", "--no-tags", repository, "+HEAD:refs/heads/mined"];
    await git(["--git-dir", gitDir, ...what]);
    return gitDir;
  }
  const shown = process.stderr.isTTY ? ["--progress"] : ["--quiet"];
  await git(
    ["clone", ...shown, "--bare", "--no-tags", "--single-branch", "--", repository, gitDir],
    "",
    true,
  );
  await git(["--git-dir", gitDir, "branch", "--force", "mined", "HEAD"]);
  return gitDir;
}

/** The commits on the default branch since a date, the newest first. */
export async function landedSince(gitDir: string, since: string): Promise<Landed[]> {
  const which = ["--first-parent", "--diff-merges=first-parent", `--since=${since}`];
  const how = ["--raw", "-z", "--no-abbrev", "--no-renames", FORMAT];
  return readLog((await git(["--git-dir", gitDir, "log", ...which, ...how, "mined"])).toString());
}

/** Reads what `git log` printed. A commit without a parent is left out. */
export function readLog(text: string): Landed[] {
  return text.split("\x01").flatMap((part) => {
    const [id = "", parents = "", author = "", date = "", message = "", ...rest] = part.split("\0");
    const [parent = ""] = parents.split(" ");
    if (parent === "") return [];
    const [subject = "", ...body] = message.trim().split("\n");
    const at = new Date(date);
    return [{ id, parent, author, at, subject, body: body.join("\n").trim(), files: filesIn(rest) }];
  });
}

function filesIn(words: readonly string[]): ChangedFile[] {
  return words.flatMap((word, nth) => {
    const [, before, after] = /^\s*:\d+ \d+ ([\da-f]+) ([\da-f]+) \w/.exec(word) ?? [];
    const path = words[nth + 1];
    if (before === undefined || after === undefined || path === undefined) return [];
    const there = (object: string) => (NOTHING.test(object) ? null : object);
    return [{ path, before: there(before), after: there(after) }];
  });
}
