import type { TreePool } from "./tree-pool.ts";
import type { TreeThread } from "./tree-thread.ts";

/** Lets a later turn have what the agent left as it was. Never rejects: without it, that turn takes longer. */
export async function keepTree(thread: TreeThread, trees: TreePool, key: string): Promise<void> {
  const path = trees.newPath(key);
  if (path === null) return;
  const isKept = await thread.call("keep", { kept: path }).catch(() => false);
  if (isKept) trees.add(path);
  // What can't be removed now is at the next start.
  else await trees.giveUp(path).catch(() => {});
}
