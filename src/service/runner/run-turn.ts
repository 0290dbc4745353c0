import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isBaseBranch, isJobId, jobBranch } from "../branch.ts";
import type { RunTurnResult } from "../turn-runner.ts";
import { refusedText } from "./agents/ending.ts";
import { type EarlierPush, findEarlierPush, holdsPush } from "./earlier-push.ts";
import { openTurnFolders, removeTurnFolders, type TurnFolders } from "./folders.ts";
import { makeCommit, storeFiles } from "./git/commit.ts";
import { fillTree } from "./tree/fill-tree.ts";
import type { SafeGit } from "./git/git.ts";
import { ignoredPaths } from "./git/ignored-paths.ts";
import { fetchMirror, mirrorPath, prepare, tipsOf } from "./git/mirror.ts";
import { pushJobBranch } from "./git/push.ts";
import { type Remote, remoteOf } from "./git/remote.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { HostedPullRequest, PullRequestHost } from "./publish/code-host.ts";
import { publish } from "./publish/publish.ts";
import { boundedPaths, commitMessageOf } from "./publish/pull-request-text.ts";
import { turnKeyOf } from "./turn-key.ts";
import { readTurnNote, writeTurnNote } from "./publish/turn-note.ts";
import { type AgentContext, type AgentRunResult, runAgent } from "./run-agent.ts";
import { TurnFailedError } from "./run-error.ts";
import type { Author, RunnerTurn } from "./runner-turn.ts";
import { keepTree } from "./tree/keep-tree.ts";
import type { TreePool } from "./tree/tree-pool.ts";
import { TreeThread } from "./tree/tree-thread.ts";

export type RunContext = AgentContext & {
  git: SafeGit;
  codeHost: PullRequestHost | null;
  mirrorLock: KeyedLock;
  trees: TreePool;
  author: Author;
  /** What must not get into a file, in all its forms. */
  secrets: readonly string[];
  /** Told what the service itself does now. */
  onProgress: (line: string) => void;
};

/** How a run ends that does not fail. */
type Success = Exclude<RunTurnResult, { kind: "failed" }>;

/** Where a turn starts: the commit it builds on, what the job's branch is at the remote, and its pull requests. */
type Start = {
  commit: string;
  job: string | null;
  remote: Remote;
  gitDir: string;
  pulls: readonly HostedPullRequest[];
};
/** What a turn came to, before its pull request. `earlier`: an earlier attempt pushed it. */
type PushedWork = {
  commit: string;
  summary: string | null;
  leftOut: string[];
  earlier: EarlierPush | null;
};

/** The agent's tree, and what belongs to it. `endTree`: for when it is not needed any more. */
type WorkInTree = {
  start: Start;
  folders: TurnFolders;
  thread: TreeThread;
  copies: string;
  ignoreRules: Awaited<ReturnType<typeof fillTree>>;
  endTree: () => Promise<void>;
};

/**
 * Runs one turn: fetch, agent, commit, push, pull request. Rejects with a `TurnFailedError`, a `TransientRunError`, or the signal's
 * reason. Run again after a crash, it begins anew, unless the turn's commit was pushed already: then only the pull request is left to
 * do, and no agent runs a second time.
 */
export async function runTurn(turn: RunnerTurn, context: RunContext): Promise<Success> {
  const { project, jobId } = turn;
  assertNames(turn);
  const remote = remoteOf(project.repository, project.gitCredentials);
  const gitDir = mirrorPath(context.folders.mirrors, project.id, project.repository);

  context.onProgress("fetching the repository");
  const { start, pushed } = await context.mirrorLock.run(gitDir, context.signal, () =>
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
      context.logger.warn({ problem: String(error) }, "worktree could not be removed"),
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
    throw new TurnFailedError("The project's base branch isn't set up correctly.", {
      details: [`${named} can't be a base branch. Correct the project's baseBranch.`],
    });
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
  await fetchMirror({ git, logger }, gitDir, remote, project.baseBranch, signal);
  const { base, job } = await tipsOf(git, gitDir, jobId, signal);
  let asked: Promise<HostedPullRequest[]> | undefined;
  const findPulls = () =>
    (asked ??= codeHost ? codeHost.find(jobBranch(jobId), signal) : Promise.resolve([]));

  const note = await readTurnNote(folders.notes, jobId);
  const turnKey = turnKeyOf(turn);
  const input = { git, gitDir, jobId, turnKey, base, tip: job, note, findPulls, signal };
  const earlier = await findEarlierPush(input);
  // Without a code host there was nothing to merge it with but git itself.
  const pulls = earlier === null && (job !== null || turn.earlierTurns.length > 0) ? await findPulls() : [];
  const start = { commit: job ?? base, job, remote, gitDir, pulls };
  if (earlier !== null) {
    logger.info({}, "turn was pushed before, only the pull request is left");
    const { summary = null, leftOut = [] } = earlier.note ?? {};
    return { start, pushed: { commit: job ?? earlier.commit, summary, leftOut, earlier } };
  }
  // What was merged is in the base, perhaps as another commit: a new pull request starts from there.
  const isMerged =
    job !== null &&
    !pulls.some(({ state }) => state === "open") &&
    pulls.some(({ state, headSha }) => state === "merged" && headSha === job);
  return { start: isMerged ? { ...start, commit: base } : start, pushed: null };
}

async function workIn(
  folders: TurnFolders,
  turn: RunnerTurn,
  context: RunContext,
  start: Start,
): Promise<Success | PushedWork> {
  const { git, mirrorLock, signal, trees, clock, onProgress } = context;
  const { gitDir } = start;
  const scratch = dirname(folders.index);
  const [aside, copies] = [join(scratch, "aside"), join(scratch, "copies")];
  for (const folder of [aside, copies]) await mkdir(folder, { mode: 0o700 });
  const key = basename(gitDir);
  await using thread = new TreeThread({ root: folders.tree, aside }, clock, context.folders.compiled);
  let keeping: Promise<void> | undefined;
  const keep = () => (keeping ??= keepTree(thread, trees, key));
  try {
    const ignoreRules = await mirrorLock.run(gitDir, signal, async () => {
      await prepare(git, gitDir, signal);
      return fillTree({
        git,
        gitDir,
        commit: start.commit,
        thread,
        tree: folders.tree,
        scratch: folders.index,
        kept: trees.take(key),
        signal,
      });
    });

    onProgress("the agent is working");
    const { keepSession, ...ran } = await runAgent(folders, turn, context);
    // Only what the next turn finds done is for its agent to remember.
    const work = await commitWork(
      turn,
      context,
      { start, folders, thread, copies, ignoreRules, endTree: keep },
      ran,
    );
    await keepSession();
    return work;
  } finally {
    await keep();
  }
}

/** Commits and pushes what the agent changed. */
async function commitWork(
  turn: RunnerTurn,
  context: RunContext,
  { start, folders, thread, copies, ignoreRules, endTree }: WorkInTree,
  ran: Omit<AgentRunResult, "keepSession">,
): Promise<Success | PushedWork> {
  const { git, mirrorLock, signal, redact, clock, onProgress } = context;
  const { summary } = ran;
  const { docs } = turn.project;
  const { gitDir } = start;
  onProgress("looking at what changed");
  const added = await thread.call("scan", { docs }, signal);
  const ignored = await mirrorLock.run(gitDir, signal, async () => {
    // The agent is gone. Whatever it may have done to the mirror's settings is undone before git runs again.
    await prepare(git, gitDir, signal);
    return ignoredPaths(git, gitDir, ignoreRules, added, folders.ignore, signal);
  });
  const chosen = { docs, ignored: [...ignored], secrets: context.secrets, copies };
  const selection = await thread.call("select", chosen, signal);
  const leftOut = boundedPaths(selection.leftOut, redact);
  if (selection.committed.length === 0) return nothingChanged(ran, leftOut);

  const message = commitMessageOf({ ...turn, summary, leftOut }, redact);
  const commit = await mirrorLock.run(gitDir, signal, async () => {
    await prepare(git, gitDir, signal);
    const count = selection.committed.filter(({ kind }) => kind !== "deleted").length;
    const oids = count === 0 ? [] : await storeFiles(git, gitDir, copies, count, signal);
    const index = await thread.call("nextIndex", { oids }, signal);
    // From here on the tree is not needed.
    void endTree();
    const allowed = new Set(selection.committed.map(({ path }) => path));
    const made = { git, gitDir, scratch: folders.index, parent: start.commit, index, allowed, message };
    return makeCommit({ ...made, author: context.author, atMs: clock.now(), signal });
  });
  if (commit === null) return nothingChanged(ran, leftOut);
  await pushCommit(turn, context, start, { commit, summary, leftOut }, selection.committed.length);
  return { commit, summary, leftOut, earlier: null };
}

/** Notes what is pushed before and after: whatever happens to the branch later, this turn runs no second agent. */
async function pushCommit(
  turn: RunnerTurn,
  context: RunContext,
  { gitDir, remote, job, pulls }: Start,
  work: { commit: string; summary: string | null; leftOut: string[] },
  files: number,
): Promise<void> {
  const { git, mirrorLock, signal, redact, folders, onProgress } = context;
  const { jobId } = turn;
  const { commit, leftOut } = work;
  const note = {
    version: 1 as const,
    commit,
    summary: work.summary === null ? null : redact(work.summary),
    leftOut,
    turnKey: turnKeyOf(turn),
    openPull: pulls.find(({ state }) => state === "open")?.number ?? null,
    newestPull: pulls.length === 0 ? null : Math.max(...pulls.map(({ number }) => number)),
  };
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: false });
  onProgress(`pushing ${files} changed ${files === 1 ? "file" : "files"}`);
  await mirrorLock.run(gitDir, signal, async () => {
    await prepare(git, gitDir, signal);
    await pushJobBranch({ git, gitDir, remote, jobId, commit, expected: job, signal });
  });
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: true });
}

async function finish(turn: RunnerTurn, context: RunContext, work: PushedWork): Promise<Success> {
  const { codeHost, redact, signal } = context;
  const { commit, summary, leftOut, earlier } = work;
  const branch = jobBranch(turn.jobId);
  if (codeHost === null) return { kind: "branch", branch, summary, leftOut };
  const { baseBranch } = turn.project;
  const isTurns = (pull: HostedPullRequest) => earlier !== null && holdsPush(pull, earlier);
  if (earlier?.isInBase && !(await codeHost.find(branch, signal)).some((pull) => holdsPush(pull, earlier))) {
    const said = `The changes are in ${baseBranch} already.`;
    return { kind: "no-changes", summary, reason: said, leftOut };
  }
  context.onProgress("opening the pull request");
  const pullRequest = await publish({
    codeHost,
    branch,
    baseBranch,
    commit,
    isTurns,
    turn: { ...turn, summary, leftOut },
    redact,
    signal,
  });
  return { kind: "pull-request", prLink: pullRequest.url, pullRequest, summary, leftOut };
}

/**
 * The result of a run that left nothing to commit. Throws where the model's trouble may be the reason: not every agent that stops because of it
 * says that it failed.
 */
function nothingChanged(
  { summary, refused, modelTrouble }: Omit<AgentRunResult, "keepSession">,
  leftOut: string[],
): Success {
  if (modelTrouble !== null && leftOut.length === 0) {
    const said = summary === null ? "" : `The agent said: ${summary}`;
    throw new TurnFailedError(modelTrouble.reason, { details: [modelTrouble.advice, said] });
  }
  return { kind: "no-changes", summary, reason: reasonOf(refused, leftOut), leftOut };
}

/** Why nothing came of a run in which the agent did something, or wanted to; null: it says so itself. */
function reasonOf(refused: readonly string[], leftOut: readonly string[]): string | null {
  const outside =
    leftOut.length === 0
      ? null
      : `Only files outside this project's docs were changed: ${leftOut.join(", ")}.`;
  const reasons = [outside, refusedText(refused)].filter((text) => text !== null);
  return reasons.length === 0 ? null : reasons.join(" ");
}
