import type { TreeChange } from "./scan-tree.ts";

export type DocsChange = { path: string; kind: "added" | "modified" | "deleted" };

/** What is committed, and what was changed besides and is not. */
export type Selection = { committed: DocsChange[]; leftOut: string[] };

/**
 * Keeps the changes inside the documentation. A new file that needs the place of something that stays is left out.
 * `startPaths` are the paths in the commit that the tree was made from; `isIgnored` tells of new files that the repository ignores.
 */
export function selectChanges(
  changes: readonly TreeChange[],
  startPaths: Iterable<string>,
  isDoc: (path: string) => boolean,
  isIgnored: (path: string) => boolean,
): Selection {
  const wanted: DocsChange[] = [];
  const leftOut: string[] = [];
  for (const { path, kind } of changes) {
    if (kind === "other" || !isDoc(path) || (kind === "added" && isIgnored(path))) leftOut.push(path);
    else wanted.push({ path, kind });
  }

  const deleted = new Set(wanted.filter(({ kind }) => kind === "deleted").map(({ path }) => path));
  const staying = new Set<string>();
  const stayingFolders = new Set<string>();
  for (const path of startPaths) {
    if (deleted.has(path)) continue;
    staying.add(path);
    for (const folder of foldersOf(path)) stayingFolders.add(folder);
  }
  const committed = wanted.filter(({ path, kind }) => {
    const isInTheWay =
      kind === "added" && (stayingFolders.has(path) || foldersOf(path).some((folder) => staying.has(folder)));
    if (isInTheWay) leftOut.push(path);
    return !isInTheWay;
  });
  return { committed, leftOut: leftOut.toSorted() };
}

/** `a`, `a/b` of `a/b/c`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
