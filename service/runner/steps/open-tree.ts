import { chmodSync, mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { openTurnFolders, removeFolder, type TurnFolders } from "../folders.ts";
import { faultText } from "../../base/run-error.ts";
import { fillTree, type TreeStart } from "../tree/fill-tree.ts";
import type { RunContext } from "../turn.ts";

/**
 * A tree of the turn's, and what belongs to it. It goes once this is disposed of and the turn's
 * result is told.
 */
export type TurnTree = Disposable & { folders: TurnFolders; commit: string; start: TreeStart };

/**
 * Makes a turn's folders and fills the tree from a commit. `place`: the folders' name; two that are
 * open at once have two. `isWanted`: which files; without it, all.
 */
export async function openTree(
  context: RunContext,
  commit: string,
  place: string,
  isWanted?: (path: string) => boolean,
): Promise<TurnTree> {
  const { mirror, trees, logger, afterwards } = context;
  const key = basename(mirror.path);
  const folders = await openTurnFolders(context.folders, place);
  let start: TreeStart | null = null;
  const close = () =>
    afterwards(async () => {
      try {
        const aside = join(folders.scratch, "aside");
        mkdirSync(aside);
        if (start?.hasFineTimes === true) trees.keep(key, folders.tree, start.written, aside);
      } catch (error) {
        logger.warn({ problem: faultText(error) }, "worktree could not be kept");
      }
      try {
        // At once: the job's next turn needs the place. Its agent may have closed it.
        chmodSync(folders.job, 0o700);
        renameSync(folders.job, join(folders.scratch, "job"));
        await removeFolder(folders.scratch);
      } catch (error) {
        logger.warn({ problem: faultText(error) }, "worktree could not be removed");
      }
    });
  try {
    start = await mirror.use(async (git) =>
      fillTree(git, commit, folders, await trees.take(key, folders.tree), isWanted),
    );
    return { folders, commit, start, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}
