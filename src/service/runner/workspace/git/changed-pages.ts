import { anyEnding, PAGE_ENDINGS } from "../../../base/page-endings.ts";
import type { GitRunner } from "./git.ts";

/** A path that differs between two commits. `before` or `after` is null where it isn't there. */
export type ChangedPath = { before: string | null; after: string | null };

/** Each new file is compared with each one that is gone, so this bounds what that costs. */
const OPTIONS = ["-r", "-M", "-l500", "--no-ext-diff"];
/** The endings of files that a person reads as text. */
const READ_ENDINGS = [...PAGE_ENDINGS, "rmd", "txt", "html", "org"];
const READ = anyEnding(READ_ENDINGS);

/** True for the path of a file that a person reads as text. */
export function isReadAsText(path: string): boolean {
  return READ.test(path);
}

/** What differs between two commits. A renamed file is one, also if some of its lines changed. */
export async function changedPages(git: GitRunner, from: string, to: string): Promise<ChangedPath[]> {
  const words = await git.lines(["diff-tree", ...OPTIONS, "-z", "--name-status", from, to]);
  const changed: ChangedPath[] = [];
  for (let at = 0; at < words.length;) {
    const status = words[at]?.[0];
    const [path = "", next = ""] = words.slice(at + 1, at + 3);
    const isRenamed = status === "R" || status === "C";
    changed.push({
      before: status === "A" ? null : path,
      after: status === "D" ? null : isRenamed ? next : path,
    });
    at += isRenamed ? 3 : 2;
  }
  return changed;
}

/** The changed lines of pages, as git writes them, without what is around them. */
export function patchOfPages(git: GitRunner, from: string, to: string): Promise<Buffer> {
  const options = [...OPTIONS, "-p", "-U0", "--text", "--no-textconv", "--no-color"];
  const pages = READ_ENDINGS.map((ending) => `:(glob,icase)**/*.${ending}`);
  return git.run(["-c", "core.quotePath=false", "diff-tree", ...options, from, to, "--", ...pages]);
}

/** What changed in one file, as git writes it, without what is around it. */
export function patchOf(
  git: GitRunner,
  { from, to, path }: { from: string; to: string; path: string },
): Promise<Buffer> {
  const options = ["-r", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
  return git.run(["diff-tree", ...options, from, to, "--", `:(literal)${path}`]);
}
