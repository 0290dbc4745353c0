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

/** Reads what a commit changes since it diverged from the base. */
export async function readWholeChange(
  git: GitRunner,
  { base, commit, jobId }: { base: string; commit: string; jobId: string },
): Promise<WholeChange> {
  const from = await git.text(["merge-base", base, commit]);
  const options = ["-r", "-z", "--no-renames", "--no-ext-diff", from, commit];
  // Each entry is a letter, followed by its path.
  const listed = await git.lines(["diff-tree", "--name-status", ...options]);
  const statusOf = new Map(
    listed.flatMap((letter, at): [string, ChangedPage["status"]][] =>
      at % 2 === 0 ? [[listed[at + 1] ?? "", STATUSES[letter] ?? "changed"]] : [],
    ),
  );
  const pages = (await git.lines(["diff-tree", "--numstat", ...options])).flatMap((line) => {
    const [additions, deletions, path] = line.split("\t");
    if (path === undefined) return [];
    const status = statusOf.get(path) ?? ("changed" as const);
    return [{ path, status, additions: Count.parse(additions), deletions: Count.parse(deletions) }];
  });
  const commits = await turnCommits(git, jobId, `${from}..${commit}`);
  const turns = commits.map(({ key }) => Number(key.split("-")[0]));
  return { pages, turns: new Set(turns) };
}
