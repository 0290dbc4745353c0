import type { TreePool } from "./tree-pool.ts";
import type { WorkTree } from "./work-tree.ts";

/** Lets a later turn have what the agent left as it was. Never rejects: without it, that turn takes longer. */
export async function keepTree(workTree: WorkTree, trees: TreePool, key: string): Promise<void> {
  const path = trees.newPath(key);
  if (path === null) return;
  if (isKept(workTree, path)) trees.add(path);
  // What can't be removed now is at the next start.
  else await trees.giveUp(path).catch(() => {});
}

function isKept(workTree: WorkTree, path: string): boolean {
  try {
    return workTree.keep(path);
  } catch {
    return false;
  }
}
