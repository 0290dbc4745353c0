import { foldedName } from "../git/safe-path.ts";
import type { TreeChange } from "./scan-tree.ts";

export type DocsChange = { path: string; kind: "added" | "modified" | "deleted" };

/** What is committed, and what was changed besides and is not. */
export type Selection = { committed: DocsChange[]; leftOut: string[] };

/**
 * Keeps the changes inside the documentation. A new file that needs the place of something that stays is left out, and so is one
 * whose name, or a folder's in it, differs from another only in case: half of the machines can't check both out.
 * `startPaths` are the paths in the commit that the tree was made from; `isRefused` tells of new files that are left out in any case.
 */
export function selectChanges(
  changes: readonly TreeChange[],
  startPaths: Iterable<string>,
  isDoc: (path: string) => boolean,
  isRefused: (path: string) => boolean,
): Selection {
  const wanted: DocsChange[] = [];
  const leftOut: string[] = [];
  for (const { path, kind } of changes) {
    if (kind === "other" || !isDoc(path) || (kind === "added" && isRefused(path))) leftOut.push(path);
    else wanted.push({ path, kind });
  }

  const deleted = new Set(wanted.filter(({ kind }) => kind === "deleted").map(({ path }) => path));
  const staying = new Set<string>();
  const stayingFolders = new Set<string>();
  /** How each file or folder is spelled that will be there, by what a file system may take for its name. */
  const spellings = new Map<string, string>();
  for (const path of startPaths) {
    if (deleted.has(path)) continue;
    staying.add(path);
    spellings.set(folded(path), path);
    for (const folder of foldersOf(path)) {
      if (stayingFolders.has(folder)) continue;
      stayingFolders.add(folder);
      spellings.set(folded(folder), folder);
    }
  }
  const committed = wanted.filter(({ path, kind }) => {
    if (kind !== "added") return true;
    const folders = foldersOf(path);
    const names = [path, ...folders].map((name) => [folded(name), name] as const);
    const isInTheWay =
      stayingFolders.has(path) ||
      folders.some((folder) => staying.has(folder)) ||
      names.some(([key, name]) => (spellings.get(key) ?? name) !== name);
    if (isInTheWay) leftOut.push(path);
    else for (const [key, name] of names) spellings.set(key, name);
    return !isInTheWay;
  });
  return { committed, leftOut: leftOut.toSorted() };
}

/** What is the same name to a file system. */
function folded(path: string): string {
  return foldedName(path);
}

/** `a`, `a/b` of `a/b/c`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
