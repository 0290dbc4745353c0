import { storeFiles, makeCommit } from "../git/commit.ts";
import { ignoredPaths } from "../git/ignored-paths.ts";
import { prepare } from "../git/mirror.ts";
import { boundedPaths, commitMessageOf } from "../publish/pull-request-text.ts";
import type { AgentRunResult } from "../run-agent.ts";
import type { RunContext } from "../run-context.ts";
import { isNoRoom, TurnFailedError } from "../run-error.ts";
import type { RunnerTurn } from "../runner-turn.ts";
import type { TurnTree } from "./open-tree.ts";
import type { CheckedWork } from "./work.ts";

const TIME_LIMIT_MS = 60_000;

/**
 * Finds what the agent changed, and commits what belongs to the docs. Rejects with a `TurnFailedError` if it is too much to look at, by
 * number, size or time, or if there is no room for it.
 */
export async function checkWork(
  tree: TurnTree,
  { summary }: Pick<AgentRunResult, "summary">,
  turn: RunnerTurn,
  context: RunContext,
): Promise<CheckedWork> {
  const { clock } = context;
  const late = new AbortController();
  const cancelLimit = clock.wakeAt(clock.now() + TIME_LIMIT_MS, () =>
    late.abort(
      new TurnFailedError(
        `The agent left more behind than can be looked through in ${TIME_LIMIT_MS / 1000} s.`,
      ),
    ),
  );
  try {
    context.onProgress("looking at what changed");
    const bounded = AbortSignal.any([context.signal, late.signal]);
    const added = await tree.workTree.scan(turn.project.docs, bounded);
    cancelLimit();
    return await commitWork(tree, added, summary, turn, context);
  } catch (error) {
    // Its agent would only run and fill the disk again.
    throw isNoRoom(error)
      ? new TurnFailedError("The service's disk has no room for the agent's work.")
      : error;
  } finally {
    cancelLimit();
  }
}

/** `added`: the new files among the docs. */
async function commitWork(
  { start, folders, workTree, copies, ignoreRules }: TurnTree,
  added: string[],
  summary: string | null,
  turn: RunnerTurn,
  { git, mirrorLock, signal, redact, clock, secrets, author }: RunContext,
): Promise<CheckedWork> {
  const { docs, portableNames } = turn.project;
  const { gitDir } = start;
  const ignored = await mirrorLock.run(gitDir, signal, async () => {
    // The agent is gone. Whatever it may have done to the mirror's settings is undone before git runs again.
    await prepare(git, gitDir, signal);
    return ignoredPaths(git, gitDir, ignoreRules, added, folders.ignore, signal);
  });
  const { committed, ...rest } = await workTree.select({ docs, ignored, portableNames, secrets, copies });
  const leftOut = boundedPaths(rest.leftOut, redact);
  if (committed.length === 0) return { commit: null, leftOut };

  const message = commitMessageOf({ ...turn, summary, leftOut }, redact);
  const commit = await mirrorLock.run(gitDir, signal, async () => {
    await prepare(git, gitDir, signal);
    const count = committed.filter(({ kind }) => kind !== "deleted").length;
    const oids = count === 0 ? [] : await storeFiles(git, gitDir, copies, count, signal);
    const index = workTree.nextIndex(oids);
    const allowed = new Set(committed.map(({ path }) => path));
    const made = { git, gitDir, scratch: folders.index, parent: start.commit, index, allowed, message };
    return makeCommit({ ...made, author, atMs: clock.now(), signal });
  });
  return commit === null ? { commit, leftOut } : { commit, files: committed.length, leftOut };
}
