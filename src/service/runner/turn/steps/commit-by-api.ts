import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import type { CommitHost, HostedCommit } from "../../../pulls/code-host/github-commits.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import { RefusedByCodeHostError } from "../../../pulls/code-host/github-fault.ts";
import { BranchInTheWayError, RefConflictError } from "../../workspace/git/git-fault.ts";
import { changedEntries, readObjects } from "../../workspace/git/objects.ts";
import type { TurnContext } from "../../turn-context.ts";

/** GitHub takes requests of about 40 MB, in which a file is a third larger. */
const MAX_BYTES = 25 * 1024 * 1024;
const MOVED = "The branch changed meanwhile.";

/**
 * Has the code host make a commit with the content and the message of ours, on a branch that is at
 * `expected`, or isn't there if that is null. Resolves to the new commit, which is in the mirror
 * then. Rejects with a `RefConflictError` if somebody has moved the branch, and with a
 * `TurnFailedError` if the change is one that the host can't make.
 */
export async function commitByApi(
  host: CommitHost,
  { mirror, signal }: Pick<TurnContext, "mirror" | "signal">,
  {
    jobId,
    branch,
    commit,
    expected,
  }: { jobId: string; branch: string; commit: string; expected: string | null },
): Promise<string> {
  const parents = await mirror.use((git) => git.text(["log", "-1", "--format=%P", commit]));
  const [ours = "", theirs] = parents.split(" ");
  if (theirs !== undefined) {
    if (ours !== expected) throw new RefConflictError(MOVED);
    return mergeByApi(host, { mirror, signal }, { branch, commit, parents: [ours, theirs] });
  }
  const change = await mirror.use((git) => readChange(git, commit));
  const { parent } = change;
  if (parent !== expected) {
    const isPointed = await host.point(branch, parent, expected, signal).catch(async (error: unknown) => {
      if (!(error instanceof RefusedByCodeHostError)) throw error;
      const inTheWay = await mirror.use(() => mirror.branchInTheWay(jobId));
      throw inTheWay === null ? error : new BranchInTheWayError(inTheWay, error.details);
    });
    if (!isPointed) throw new RefConflictError(MOVED);
  }
  let made: string | null;
  try {
    made = await host.commit({ ...change, branch }, signal);
  } catch (error) {
    // Nobody needs a branch without a commit.
    const isOurs = error instanceof TurnFailedError && expected === null;
    if (isOurs) await mirror.use(() => mirror.push(jobId, null, parent)).catch(() => {});
    throw error;
  }
  if (made === null) throw new RefConflictError(MOVED);
  const oid = made;
  await mirror.use(async (git) => {
    if (!(await mirror.has(oid))) throw new TransientRunError("The code host doesn't show its commit yet.");
    const shown = await git.text(["rev-parse", `${oid}^{tree}`, `${oid}^`, `${commit}^{tree}`]);
    const [tree, under, wanted] = shown.split("\n");
    if (tree === wanted && under === parent) return;
    throw new TurnFailedError("The code host made another commit than it was asked for.", {
      details: [`Look at ${oid} on ${branch}, and at commits.by.`],
    });
  });
  return oid;
}

/** Has the code host make a merge commit, whose files are those of ours. */
async function mergeByApi(
  host: CommitHost,
  { mirror, signal }: Pick<TurnContext, "mirror" | "signal">,
  { branch, commit, parents }: { branch: string; commit: string; parents: [string, string] },
): Promise<string> {
  const [, base] = parents;
  const merge = await mirror.use(async (git) => {
    // Of the base branch, the host has all files. So only those of the pull request are sent.
    const changed = await changedEntries(git, base, commit);
    const oids = changed.flatMap(({ is }) => is ?? []);
    const contents = await readObjects(git, oids);
    assertFits(contents);
    const blobs = new Map(oids.map((oid, at) => [oid, contents[at] ?? Buffer.alloc(0)]));
    const [baseTree = "", tree = ""] = (
      await git.text(["rev-parse", `${base}^{tree}`, `${commit}^{tree}`])
    ).split("\n");
    const files = changed.map(({ path, mode, is }) => ({
      path,
      mode,
      content: is === null ? null : (blobs.get(is) ?? null),
    }));
    return { baseTree, tree, files, message: await messageOf(git, commit) };
  });
  const made = await host.merge({ ...merge, branch, parents }, signal);
  if (made === "moved") throw new RefConflictError(MOVED);
  if (made === "other-files") {
    throw new TurnFailedError("The code host made other files of the merge than it was asked for.", {
      details: ["Look at commits.by. With git, the service makes the commit itself."],
    });
  }
  const { oid } = made;
  const isHere = await mirror.use(() => mirror.has(oid));
  if (!isHere) throw new TransientRunError("The code host doesn't show its commit yet.");
  return oid;
}

async function messageOf(git: GitRunner, commit: string): Promise<string> {
  return (await git.run(["log", "-1", "--format=%B", commit])).toString("utf8");
}

function assertFits(contents: readonly Buffer[]): void {
  const bytes = contents.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= MAX_BYTES) return;
  throw new TurnFailedError("The change is too large for the code host to commit.", {
    details: [`commits.by: api takes ${MAX_BYTES / 1024 / 1024} MB of files. Use git, or ask for less.`],
  });
}

async function readChange(git: GitRunner, commit: string): Promise<Omit<HostedCommit, "branch">> {
  const parent = await git.text(["rev-parse", `${commit}^`]);
  const files = await changedEntries(git, parent, commit);
  const added = files.flatMap(({ path, mode, is }) => (is === null ? [] : [{ path, mode, oid: is }]));
  // A FileAddition has no mode: https://docs.github.com/en/graphql/reference/commits
  const special = added.find(({ mode }) => mode !== "100644");
  if (special !== undefined) {
    throw new TurnFailedError(`The code host can't commit ${special.path}, because it is executable.`, {
      details: ["commits.by: api makes plain files only. Use git, or take the page's executable bit away."],
    });
  }
  const contents = await readObjects(
    git,
    added.map(({ oid }) => oid),
  );
  assertFits(contents);
  return {
    parent,
    message: await messageOf(git, commit),
    additions: contents.map((content, at) => ({ path: added[at]?.path ?? "", contents: content })),
    deletions: files.filter(({ is }) => is === null).map(({ path }) => path),
  };
}
