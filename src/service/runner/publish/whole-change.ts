import { z } from "zod";
import type { JobDiff } from "../../../shared/contract/diff.ts";
import { isIn, numberIn, turnCommits } from "./earlier-push.ts";
import { GitError } from "../workspace/git/git-fault.ts";
import type { GitRunner } from "../workspace/git/git.ts";
import type { Mirror } from "../workspace/git/mirror.ts";
import { changedPaths } from "../workspace/git/objects.ts";
import { changeOnto } from "../workspace/git/reapply.ts";

/** A changed file. The lines are null if git doesn't count them, as for pictures. */
export type ChangedPage = JobDiff["files"][number];

/** What a job's branch changes in all its turns together, and which turns these are. */
export type WholeChange = {
  pages: ChangedPage[];
  /** Pages that the branch's commits changed and then put back as they were. */
  undone: string[];
  /** Without those whose work was taken back as a whole. */
  turns: ReadonlySet<number>;
  /**
   * Why merging it would change nothing: the branch took everything back, or the base branch has it
   * already. Null if it would change something.
   */
  nothingLeft: "taken-back" | "in-base" | null;
};

/** True if merging it would change nothing. False if it couldn't be read. */
export function isNothingLeft(change: WholeChange | null): boolean {
  return (change?.nothingLeft ?? null) !== null;
}

/** Why a branch that took everything back changes nothing, for people. */
export const TAKEN_BACK_TEXT = "Nothing is left to merge: the last follow-up took everything back.";

const STATUSES: Readonly<Record<string, ChangedPage["status"]>> = { A: "added", D: "removed" };
const Count = z.coerce.number().int().nullable().catch(null);

type ChangeOf = {
  base: string;
  commit: string;
  jobId: string;
  /** A commit up to which the branch was merged into the base, perhaps as a different one. */
  mergedHead?: string | null;
};

/** Reads what a commit changes since it diverged from the base, without what was merged since. */
export async function readWholeChange(
  mirror: Mirror,
  { base, commit, jobId, mergedHead = null }: ChangeOf,
): Promise<WholeChange> {
  const { git } = mirror;
  const parted = await mirror.mergeBase(base, commit);
  if (parted === null) throw new GitError(`${base} and ${commit} have no history in common.`);
  const from =
    mergedHead !== null && (await isBetween(mirror, mergedHead, parted, commit)) ? mergedHead : parted;
  const pages = await pagesBetween(git, from, commit);
  const begun = await lastUnchanged(git, from, commit);
  // A merge of the base branch says nothing of the change.
  const commits = await turnCommits(git, jobId, commit, "--no-merges", `^${begun}`, `^${from}`);
  const turns = new Set(commits.map(({ key }) => numberIn(key)));
  const undone = await undonePages(git, pages, begun, commit);
  if (pages.length === 0) {
    const nothingLeft = (await madeEmptyByMerge(git, from, commit)) ? "in-base" : "taken-back";
    return { pages, undone, turns, nothingLeft };
  }
  const isInBase = await hasAlready(git, { base, parted, from, commit, pages });
  return { pages, undone, turns, nothingLeft: isInBase ? "in-base" : null };
}

/** The files that differ between two commits. */
export async function pagesBetween(git: GitRunner, from: string, to: string): Promise<ChangedPage[]> {
  const options = ["-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff"];
  const listed = await git.lines(["diff-tree", ...options, from, to]);
  // First each file's state, which begins with a colon and ends with a letter, followed by its
  // path. Then its lines, with the path.
  const statusOf = new Map<string, ChangedPage["status"]>();
  let at = 0;
  for (; listed[at]?.startsWith(":") === true; at += 2) {
    statusOf.set(listed[at + 1] ?? "", STATUSES[listed[at]?.at(-1) ?? ""] ?? "changed");
  }
  return listed.slice(at).flatMap((line) => {
    const [additions, deletions, ...rest] = line.split("\t");
    if (rest.length === 0) return [];
    const path = rest.join("\t");
    const status = statusOf.get(path) ?? ("changed" as const);
    return [{ path, status, additions: Count.parse(additions), deletions: Count.parse(deletions) }];
  });
}

/** As far back as we look for a commit that took everything back. */
const MAX_COMMITS = 200;

/**
 * The newest commit of the branch up to `commit` that changes nothing, or else `from`. Before a
 * merge of the base branch, its files are those of the base branch as it was then.
 */
async function lastUnchanged(git: GitRunner, from: string, commit: string): Promise<string> {
  let tree = await treeOf(git, from);
  const options = ["-z", "--first-parent", `--max-count=${MAX_COMMITS}`, "--format=%T %H %P"];
  for (const line of await git.lines(["log", ...options, `${from}..${commit}`, "--"])) {
    const [its, oid = "", ...parents] = line.split(" ");
    if (its === tree) return oid;
    tree = (await treeBeforeMerge(git, from, parents)) ?? tree;
  }
  return from;
}

/** True if `commit` has the files of `from` because a merge brought what its branch had changed. */
async function madeEmptyByMerge(git: GitRunner, from: string, commit: string): Promise<boolean> {
  const parents = (await git.text(["log", "-1", "--format=%P", commit, "--"])).split(" ");
  const tree = await treeBeforeMerge(git, from, parents);
  return tree !== null && tree !== (await treeOf(git, parents[0] ?? ""));
}

/** The files from which a branch had grown when `from`, or a part of it, was merged. */
async function treeBeforeMerge(
  git: GitRunner,
  from: string,
  [ours = "", theirs]: readonly string[],
): Promise<string | null> {
  if (theirs === undefined) return null;
  const merged = await git.text(["merge-base", theirs, from], { okCodes: [0, 1] });
  if (merged !== theirs) return null;
  const grown = await git.text(["merge-base", ours, theirs], { okCodes: [0, 1] });
  return grown === "" ? null : treeOf(git, grown);
}

function treeOf(git: GitRunner, commit: string): Promise<string> {
  return git.text(["rev-parse", `${commit}^{tree}`]);
}

/** More are of no use to a text. */
const MAX_UNDONE = 1000;

/** The pages that commits of the branch's own changed and that don't differ any more. */
async function undonePages(
  git: GitRunner,
  pages: readonly ChangedPage[],
  from: string,
  commit: string,
): Promise<string[]> {
  const options = ["-z", "--first-parent", "--no-merges", "--name-only", "--no-renames", "--format="];
  const range = ["--no-ext-diff", `--max-count=${MAX_COMMITS}`, `${from}..${commit}`, "--"];
  const touched = new Set(await git.lines(["log", ...options, ...range]));
  touched.delete("");
  for (const { path } of pages) touched.delete(path);
  return [...touched].slice(0, MAX_UNDONE);
}

type Compared = { base: string; parted: string; from: string; commit: string; pages: readonly ChangedPage[] };

/** True if the base branch got the same change meanwhile, perhaps as a part of others. */
async function hasAlready(git: GitRunner, { base, parted, from, commit, pages }: Compared): Promise<boolean> {
  if (base === parted) return false;
  const changedThere = new Set(await changedPaths(git, parted, base));
  if (!pages.every(({ path }) => changedThere.has(path))) return false;
  try {
    return (await changeOnto(git, { commit, from, onto: base })).kind === "contained";
  } catch (error) {
    if (error instanceof GitError) return false;
    throw error;
  }
}

/**
 * True if the history of `last` has this commit, and that has `first`. False if nobody has the
 * commit any more.
 */
async function isBetween(mirror: Mirror, commit: string, first: string, last: string): Promise<boolean> {
  // Otherwise, all of the history would be fetched to look for it.
  if (!(await mirror.has(commit))) return false;
  return (await isIn(mirror, last, commit)) && (await isIn(mirror, commit, first));
}
