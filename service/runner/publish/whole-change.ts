import { z } from "zod";
import type { JobDiff } from "../../../src/core/ports/job-report.ts";
import { turnCommits } from "../earlier-push.ts";
import type { GitRunner } from "../git/git.ts";

/** A changed file. The lines are null if git doesn't count them, as for pictures. */
export type ChangedPage = JobDiff["files"][number];

/** What a job's branch changes in all its turns together, and which turns these are. */
export type WholeChange = { pages: ChangedPage[]; turns: ReadonlySet<number> };

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
  git: GitRunner,
  { base, commit, jobId, mergedHead = null }: ChangeOf,
): Promise<WholeChange> {
  const parted = await git.text(["merge-base", base, commit]);
  const from =
    mergedHead !== null && (await isBetween(git, mergedHead, parted, commit)) ? mergedHead : parted;
  const options = ["-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff"];
  const listed = await git.lines(["diff-tree", ...options, from, commit]);
  // First each file's state, which begins with a colon and ends with a letter, followed by its
  // path. Then its lines, with the path.
  const statusOf = new Map<string, ChangedPage["status"]>();
  let at = 0;
  for (; listed[at]?.startsWith(":") === true; at += 2) {
    statusOf.set(listed[at + 1] ?? "", STATUSES[listed[at]?.at(-1) ?? ""] ?? "changed");
  }
  const pages = listed.slice(at).flatMap((line) => {
    const [additions, deletions, ...rest] = line.split("\t");
    if (rest.length === 0) return [];
    const path = rest.join("\t");
    const status = statusOf.get(path) ?? ("changed" as const);
    return [{ path, status, additions: Count.parse(additions), deletions: Count.parse(deletions) }];
  });
  const commits = await turnCommits(git, jobId, `${from}..${commit}`);
  const turns = commits.map(({ key }) => Number(key.split("-")[0]));
  return { pages, turns: new Set(turns) };
}

/** True if the history of `last` has this commit, and that has `first`. */
async function isBetween(git: GitRunner, commit: string, first: string, last: string): Promise<boolean> {
  // Standard output is empty if they have nothing in common (1) or there is no such commit (128).
  const okCodes = [0, 1, 128];
  const inLast = await git.text(["merge-base", commit, last], { okCodes });
  return inLast === commit && (await git.text(["merge-base", first, commit], { okCodes })) === first;
}
