import { changedFiles } from "./changed-files.ts";
import { linesOfPatch, lineAfter } from "./patch-lines.ts";
import type { LineComment } from "./line-comment.ts";
import type { Commits, PullRequests } from "./pull-requests.ts";
import type { PullRequest } from "./pull-request-store.ts";
import type { Repository } from "./repository.ts";

/** A comment on a line, its replies, and the present place of the line. */
export type LineThread = {
  first: LineComment;
  replies: LineComment[];
  /** Null if the line has changed since, or isn't in the diff anymore. */
  now: { line: number; position: number; commitSha: string } | null;
};

/** Resolves to the threads of a pull request, oldest first. */
export async function threadsOf(pullRequests: PullRequests, pullRequest: PullRequest): Promise<LineThread[]> {
  const { lineComments } = pullRequest;
  const commits = lineComments.length === 0 ? null : await pullRequests.commits(pullRequest);
  const firsts = lineComments.filter(({ inReplyTo }) => inReplyTo === null);
  return Promise.all(
    firsts.map(async (first) => ({
      first,
      replies: lineComments.filter(({ inReplyTo }) => inReplyTo === first.id),
      now: commits === null ? null : await placeNow(pullRequests.repository, commits, first),
    })),
  );
}

async function placeNow(
  repository: Repository,
  { head, mergeBase }: Commits,
  { path, side, line, commitSha, mergeBaseSha }: LineComment,
): Promise<LineThread["now"]> {
  const [from, to] = side === "LEFT" ? [mergeBaseSha, mergeBase] : [commitSha, head];
  const since = from === to ? [] : await changedFiles(repository, from, to);
  const changed = since.find(({ filename, previousFilename }) => [filename, previousFilename].includes(path));
  const moved = changed === undefined ? line : changed.patch === null ? null : lineAfter(changed.patch, line);
  if (moved === null) return null;
  const files = await changedFiles(repository, mergeBase, head);
  const patch = files.find(({ filename }) => filename === path)?.patch ?? "";
  const there = linesOfPatch(patch).find(({ numbers }) => numbers[side] === moved);
  return there === undefined ? null : { line: moved, position: there.position, commitSha: head };
}
