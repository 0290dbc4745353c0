import { chmodSync, renameSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { openTurnFolders, removeFolder, type TurnFolders } from "../../workspace/folders.ts";
import { faultText } from "../../../base/run-error.ts";
import { fillTree, type TreeStart } from "../../workspace/tree/fill-tree.ts";
import type { TurnContext } from "../../turn-context.ts";

/**
 * A turn's tree and what belongs to it. Disposing of it removes it once the turn's result was
 * reported.
 */
export type TurnTree = Disposable & { folders: TurnFolders; commit: string; start: TreeStart };

/**
 * Creates a turn's folders and fills the tree from a commit. `place` is the name of the folders.
 * Two that are open at once need different names. `isWanted` selects the files. Without it, all are
 * written.
 */
export async function openTree(
  context: Pick<TurnContext, "folders" | "mirror" | "trees" | "logger" | "afterwards">,
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
      const left = join(folders.scratch, "job");
      try {
        // Done at once, because the job's next turn needs the place. Its agent may have taken away
        // the permissions.
        chmodSync(folders.job, 0o700);
        renameSync(folders.job, left);
        if (start?.hasFineTimes === true) {
          await trees
            .keep(key, join(left, relative(folders.job, folders.tree)), start.written)
            .catch((error: unknown) =>
              logger.warn({ problem: faultText(error) }, "worktree could not be kept"),
            );
        }
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
