import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openTurnFolders, removeTurnFolders, type TurnFolders } from "../folders.ts";
import { prepare } from "../git/mirror.ts";
import type { RunContext } from "../run-context.ts";
import { faultText } from "../run-error.ts";
import type { RunnerTurn } from "../runner-turn.ts";
import { fillTree } from "../tree/fill-tree.ts";
import { keepTree } from "../tree/keep-tree.ts";
import { WorkTree } from "../tree/work-tree.ts";
import type { TurnStart } from "./work.ts";

/** The agent's tree, and what belongs to it. It is gone once this is disposed of. */
export type TurnTree = AsyncDisposable & {
  start: TurnStart;
  folders: TurnFolders;
  workTree: WorkTree;
  /** A folder of our own for copies of what will be committed. */
  copies: string;
  ignoreRules: Awaited<ReturnType<typeof fillTree>>;
};

/** Makes the turn's folders and fills the tree from where the turn starts. */
export async function openTree(turn: RunnerTurn, context: RunContext, start: TurnStart): Promise<TurnTree> {
  const { git, mirrorLock, signal, trees, logger } = context;
  const { gitDir, commit } = start;
  await using opening = new AsyncDisposableStack();
  const folders = await openTurnFolders(context.folders, turn.jobId);
  opening.defer(() =>
    removeTurnFolders(folders).catch((error: unknown) =>
      logger.warn({ problem: faultText(error) }, "worktree could not be removed"),
    ),
  );
  const scratch = dirname(folders.index);
  const [aside, copies] = [join(scratch, "aside"), join(scratch, "copies")];
  for (const folder of [aside, copies]) await mkdir(folder, { mode: 0o700 });
  const key = basename(gitDir);
  const workTree = new WorkTree(folders.tree, aside);
  opening.defer(() => keepTree(workTree, trees, key));
  const ignoreRules = await mirrorLock.run(gitDir, signal, async () => {
    await prepare(git, gitDir, signal);
    const tree = { workTree, tree: folders.tree, scratch: folders.index, kept: trees.take(key) };
    return fillTree({ git, gitDir, commit, ...tree, signal });
  });
  const opened = opening.move();
  return {
    start,
    folders,
    workTree,
    copies,
    ignoreRules,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
