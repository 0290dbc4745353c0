import picomatch from "picomatch";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TurnFailedError } from "../../base/run-error.ts";
import { openInside } from "../confined-files.ts";
import { foldedName, isSafePath, nameAnywhere, parentsOf } from "./names.ts";
import type { TreeChange } from "./scan-tree.ts";

/** Files that control git itself. They never count as documentation, whatever the globs say. */
const NEVER = new Set([".gitmodules", ".gitattributes", ".gitignore"]);

export type DocsChange = { path: string; kind: "added" | "modified" | "deleted" };

/** What is committed, and what was also changed but isn't committed. */
export type Selection = { committed: DocsChange[]; leftOut: string[] };

/**
 * Tells which paths count as documentation. A path counts if a glob matches it. Names that start
 * with a dot match only where the glob spells the dot (`.github/**\/*.md`). Git's own files never
 * count.
 */
export function createIsDoc(globs: readonly string[]): (path: string) => boolean {
  // strictSlashes: `docs/**` means what is in docs, and not a file with that name.
  const options = { dot: false, nonegate: true, windows: false, strictSlashes: true } as const;
  const isWanted = picomatch([...globs], options);
  return (path) =>
    isSafePath(path) && isWanted(path) && !path.split("/").some((name) => NEVER.has(nameAnywhere(name)));
}

/**
 * Selects the changes inside the documentation. Leaves out a new file that needs the place of
 * something that stays, and one whose name, or the name of a folder in its path, differs from
 * another only in case: many machines can't check out both. `startPaths` are the paths in the
 * commit that the tree was made from. `isRefused` tells which new files are left out in any case.
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
    for (const folder of parentsOf(path)) stayingFolders.add(folder);
  }
  /**
   * How each file or folder in the result is spelled, by the form in which a file system may
   * compare it.
   */
  const spellings = new Map([...staying, ...stayingFolders].map((name) => [foldedName(name), name]));
  const committed = wanted.filter(({ path, kind }) => {
    if (kind !== "added") return true;
    const folders = parentsOf(path);
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

const MAX_FILES = 1000;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES = 50 * 1024 * 1024;

/**
 * Copies what will be committed out of the tree at `root` into the folder `copies`. Resolves to the
 * copies by path in the tree. Throws a `TurnFailedError` if it is too much, if a file can't be read
 * anymore, or if its name or content contains one of `secrets`, because everything that the agent
 * knows could leave through a pull request.
 */
export async function copyChanges(
  root: string,
  changes: readonly DocsChange[],
  secrets: readonly string[],
  copies: string,
): Promise<Map<string, string>> {
  if (changes.length > MAX_FILES) {
    throw new TurnFailedError(
      `The agent changed ${changes.length} files; a pull request may have ${MAX_FILES}.`,
    );
  }
  let totalBytes = 0;
  const copied = new Map<string, string>();
  await mkdir(copies, { mode: 0o700 });
  for (const { path, kind } of changes) {
    if (kind === "deleted") continue;
    if (kind === "added" && secrets.some((secret) => path.includes(secret))) {
      throw new TurnFailedError("The agent put a secret into the name of a file. Nothing was pushed.");
    }
    const content = await readFileInside(root, path);
    totalBytes += content.length;
    if (totalBytes > MAX_TOTAL_BYTES) {
      throw new TurnFailedError(
        `The changed files have more than ${MAX_TOTAL_BYTES / 1024 / 1024} MB together.`,
      );
    }
    if (secrets.some((secret) => content.includes(secret))) {
      throw new TurnFailedError(`The agent wrote a secret into ${path}. Nothing was pushed.`);
    }
    const copy = join(copies, String(copied.size));
    await writeFile(copy, content, { mode: 0o600, flag: "wx" });
    copied.set(path, copy);
  }
  return copied;
}

async function readFileInside(root: string, path: string): Promise<Buffer> {
  const opened = await openInside(root, path);
  if (opened === null) throw new TurnFailedError(`${path} changed while it was read. Nothing was pushed.`);
  const { file, stats } = opened;
  await using _closing = file;
  if (stats.size > MAX_FILE_BYTES) {
    throw new TurnFailedError(`${path} has more than ${MAX_FILE_BYTES / 1024 / 1024} MB.`);
  }
  const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  return buffer.subarray(0, bytesRead);
}
