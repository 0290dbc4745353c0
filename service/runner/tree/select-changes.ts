import picomatch from "picomatch";
import { foldedName, isSafePath, nameAnywhere } from "./names.ts";
import type { TreeChange } from "./scan-tree.ts";

/** Files that steer git itself; never documentation, whatever the globs say. */
const NEVER = new Set([".gitmodules", ".gitattributes", ".gitignore"]);

export type DocsChange = { path: string; kind: "added" | "modified" | "deleted" };

/** What is committed, and what was changed besides and is not. */
export type Selection = { committed: DocsChange[]; leftOut: string[] };

/**
 * Tells which paths count as documentation. A path counts if a glob matches it. Names that start
 * with a dot match only where the glob spells the dot (`.github/**\/*.md`). Git's own files never
 * count.
 */
export function createIsDoc(globs: readonly string[]): (path: string) => boolean {
  // strictSlashes: `docs/**` is what lies in docs, not a file of that name.
  const options = { dot: false, nonegate: true, windows: false, strictSlashes: true } as const;
  const isWanted = picomatch([...globs], options);
  return (path) =>
    isSafePath(path) && isWanted(path) && !path.split("/").some((name) => NEVER.has(nameAnywhere(name)));
}

/**
 * Keeps the changes inside the documentation. A new file that needs the place of something that
 * stays is left out, and so is one whose name, or a folder's in it, differs from another only in
 * case: half of the machines can't check both out. `startPaths` are the paths in the commit that
 * the tree was made from; `isRefused` tells of new files that are left out in any case.
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
  for (const path of startPaths) {
    if (deleted.has(path)) continue;
    staying.add(path);
    for (const folder of foldersOf(path)) stayingFolders.add(folder);
  }
  /**
   * How each file or folder is spelled that will be there, by what a file system may take for its
   * name.
   */
  const spellings = new Map([...staying, ...stayingFolders].map((name) => [foldedName(name), name]));
  const committed = wanted.filter(({ path, kind }) => {
    if (kind !== "added") return true;
    const folders = foldersOf(path);
    const names = [path, ...folders].map((name) => [foldedName(name), name] as const);
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

/** `a`, `a/b` of `a/b/c`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
