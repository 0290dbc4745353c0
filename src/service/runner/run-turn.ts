import { isBaseBranch, isJobId, jobBranch } from "../branch.ts";
import type { RunTurnResult } from "../turn-runner.ts";
import { createIsDoc } from "./changes/docs-globs.ts";
import { readChanges } from "./changes/read-changes.ts";
import { scanTree } from "./changes/scan-tree.ts";
import { selectChanges } from "./changes/select-changes.ts";
import { openTurnFolders, removeTurnFolders, type TurnFolders } from "./folders.ts";
import { makeCommit } from "./git/commit.ts";
import type { SafeGit } from "./git/git.ts";
import { ignoredPaths } from "./git/ignored-paths.ts";
import { materialise } from "./git/materialise.ts";
import { fetchMirror, mirrorPath, prepare, tipsOf } from "./git/mirror.ts";
import { pushJobBranch } from "./git/push.ts";
import { type Remote, remoteOf } from "./git/remote.ts";
import { readSnapshot, type Snapshot } from "./git/snapshot.ts";
import { pushedTurn } from "./git/pushed-turn.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { PullRequestHost } from "./publish/code-host.ts";
import { publish } from "./publish/publish.ts";
import { boundedPaths, commitMessageOf, turnKeyOf } from "./publish/pull-request-text.ts";
import { readTurnNote, removeTurnNote, writeTurnNote } from "./publish/turn-note.ts";
import { type AgentContext, runAgent } from "./run-agent.ts";
import { TurnFailedError } from "./run-error.ts";
import type { Author, RunnerTurn } from "./runner-turn.ts";

export type RunContext = AgentContext & {
  git: SafeGit;
  codeHost: PullRequestHost | null;
  mirrorLock: KeyedLock;
  author: Author;
  /** What must not get into a file, in all its forms. */
  secrets: readonly string[];
};

/** How a run ends that does not fail. */
type Success = Exclude<RunTurnResult, { kind: "failed" }>;

/** Where a turn starts: the commit it builds on and what the job's branch is at the remote. */
type Start = { commit: string; job: string | null; remote: Remote; gitDir: string };
/** What a turn came to, before its pull request. */
type PushedWork = { commit: string; summary: string | null; leftOut: string[] };

/**
 * Runs one turn: fetch, agent, commit, push, pull request. Rejects with a `TurnFailedError`, a `TransientRunError`, or the signal's
 * reason. Run again after a crash, it begins anew, unless the turn's commit is at the remote already: then only the pull request
 * is left to do, and no agent runs a second time.
 */
export async function runTurn(turn: RunnerTurn, context: RunContext): Promise<Success> {
  const { project, jobId } = turn;
  assertNames(turn);
  const remote = remoteOf(project.repository, project.gitCredentials);
  const gitDir = mirrorPath(context.folders.mirrors, project.id, project.repository);

  context.onProgress("fetching the repository");
  const { start, pushed } = await context.mirrorLock.run(gitDir, () =>
    findStart(turn, context, remote, gitDir),
  );
  if (pushed) return finish(turn, context, pushed);

  const folders = await openTurnFolders(context.folders, jobId);
  try {
    const work = await workIn(folders, turn, context, start);
    if ("kind" in work) return work;
    return await finish(turn, context, work);
  } finally {
    await removeTurnFolders(folders).catch((error: unknown) =>
      context.logger.warn({ jobId, problem: String(error) }, "worktree could not be removed"),
    );
  }
}

/** Throws unless the job can name a branch and a folder, and the project's branch can be a base. */
function assertNames({ jobId, project }: RunnerTurn): void {
  if (!isJobId(jobId)) {
    throw new TurnFailedError(`The job id ${JSON.stringify(jobId.slice(0, 100))} cannot name a branch.`);
  }
  if (!isBaseBranch(project.baseBranch)) {
    const named = JSON.stringify(project.baseBranch.slice(0, 100));
    throw new TurnFailedError(`${named} cannot be a base branch. Correct the project's baseBranch.`);
  }
}

async function findStart(
  turn: RunnerTurn,
  context: RunContext,
  remote: Remote,
  gitDir: string,
): Promise<{ start: Start; pushed: PushedWork | null }> {
  const { git, folders, logger, signal, codeHost } = context;
  const { jobId, project } = turn;
  await fetchMirror({ mirrorsDir: folders.mirrors, git, logger }, gitDir, remote, project.baseBranch, signal);
  const { base, job } = await tipsOf(git, gitDir, jobId, signal);
  const start = { commit: job ?? base, job, remote, gitDir };
  if (job === null) return { start, pushed: null };

  const commit = await pushedTurn(git, gitDir, { jobId, turnKey: turnKeyOf(turn), base, tip: job }, signal);
  if (commit !== null) {
    logger.info({ jobId }, "turn was pushed before, only the pull request is left");
    const note = await readTurnNote(folders.notes, jobId, commit);
    return { start, pushed: { commit: job, summary: note?.summary ?? null, leftOut: note?.leftOut ?? [] } };
  }
  // What was merged is in the base, perhaps as another commit: a new pull request starts from there.
  const found = codeHost ? await codeHost.find(jobBranch(jobId), signal) : [];
  const isMerged =
    !found.some(({ state }) => state === "open") &&
    found.some(({ state, headSha }) => state === "merged" && headSha === job);
  return { start: isMerged ? { ...start, commit: base } : start, pushed: null };
}

async function workIn(
  folders: TurnFolders,
  turn: RunnerTurn,
  context: RunContext,
  start: Start,
): Promise<Success | PushedWork> {
  const { git, mirrorLock, signal, redact, onProgress } = context;
  const { gitDir } = start;
  const { snapshot, written } = await mirrorLock.run(gitDir, async () => {
    const listing = await readSnapshot(git, gitDir, start.commit, signal);
    return { snapshot: listing, written: await materialise(git, gitDir, listing, folders.tree, signal) };
  });

  onProgress("the agent is working");
  const summary = await runAgent(folders, turn, context);

  onProgress("looking at what changed");
  const isDoc = createIsDoc(turn.project.docs);
  const changes = await scanTree(folders.tree, snapshot, written, signal);
  const added = changes.filter(({ path, kind }) => kind === "added" && isDoc(path)).map(({ path }) => path);
  const ignored = await mirrorLock.run(gitDir, async () => {
    // The agent is gone. Whatever it may have done to the mirror's settings is undone before git runs again.
    await prepare(git, gitDir, signal);
    return ignoredPaths(git, gitDir, snapshot, added, folders.ignore, signal);
  });
  const selection = selectChanges(changes, snapshot.entries.keys(), isDoc, (path) => ignored.has(path));
  const leftOut = boundedPaths(selection.leftOut, redact);
  const files = await readChanges(folders.tree, selection.committed, context.secrets);
  const text = { ...turn, summary, leftOut };
  const commit = await mirrorLock.run(gitDir, async () => {
    if (files.length === 0) return null;
    await prepare(git, gitDir, signal);
    return commitAndPush(turn, context, start, folders, snapshot, files, commitMessageOf(text, redact), {
      summary,
      leftOut,
    });
  });
  if (commit === null) return { kind: "no-changes", summary: withLeftOut(summary, leftOut) };
  return { commit, summary, leftOut };
}

async function commitAndPush(
  { jobId }: RunnerTurn,
  context: RunContext,
  { gitDir, remote, job }: Start,
  folders: TurnFolders,
  snapshot: Snapshot,
  changes: Awaited<ReturnType<typeof readChanges>>,
  message: string,
  note: { summary: string | null; leftOut: string[] },
): Promise<string | null> {
  const { git, author, clock, signal, onProgress } = context;
  const commit = await makeCommit({
    git,
    gitDir,
    scratch: folders.index,
    snapshot,
    changes,
    message,
    author,
    atMs: clock.now(),
    signal,
  });
  if (commit === null) return null;
  await writeTurnNote(context.folders.notes, jobId, { version: 1, commit, ...note });
  onProgress(`pushing ${changes.length} changed ${changes.length === 1 ? "file" : "files"}`);
  await pushJobBranch({ git, gitDir, remote, jobId, commit, expected: job, signal });
  return commit;
}

async function finish(turn: RunnerTurn, context: RunContext, work: PushedWork): Promise<Success> {
  const { codeHost, redact, signal, folders } = context;
  const { commit, summary, leftOut } = work;
  if (codeHost === null) {
    throw new TurnFailedError(
      `The changes are on the branch ${jobBranch(turn.jobId)}, but the project has no code host, so nobody could be asked to merge them.`,
    );
  }
  context.onProgress("opening the pull request");
  const prLink = await publish({
    codeHost,
    branch: jobBranch(turn.jobId),
    baseBranch: turn.project.baseBranch,
    commit,
    turn: { ...turn, summary, leftOut },
    redact,
    signal,
  });
  await removeTurnNote(folders.notes, turn.jobId);
  return { kind: "pull-request", prLink, summary, leftOut };
}

function withLeftOut(summary: string | null, leftOut: readonly string[]): string | null {
  if (leftOut.length === 0) return summary;
  const said = `Nothing in the documentation was changed. Left out, because it is no documentation: ${leftOut.join(", ")}`;
  return summary === null ? said : `${summary}\n\n${said}`;
}
