import picomatch from "picomatch";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createGiveWay } from "../../../base/give-way.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import { openInside } from "../confined-files.ts";
import { foldedName, isSafePath, nameAnywhere, parentsOf } from "./names.ts";
import type { TreeChange } from "./scan-tree.ts";

/** Files that control git itself. They never count as documentation, whatever the globs say. */
const NEVER = new Set([".gitmodules", ".gitattributes", ".gitignore"]);

export type DocsChange = { path: string; kind: "added" | "modified" | "deleted" };

/** Why a file that the agent changed isn't committed. `other`: it isn't part of these docs. */
export type WhyLeftOut = "other" | "tool" | "note" | "lfs" | "filter" | "encoding";

/** What was changed but isn't committed. */
export type LeftOutFile = { path: string; why: WhyLeftOut };

/** What is committed, and what is left out. */
type Selection = { committed: DocsChange[]; leftOut: LeftOutFile[] };

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

/** Tells which files of a context repository agents see, by its `paths`: without any, all. */
export function createIsShown(paths: readonly string[]): (path: string) => boolean {
  return paths.length === 0 ? () => true : createIsDoc(paths);
}

/**
 * Selects the changes inside the documentation. Leaves out a new file that needs the place of
 * something that stays, and one whose name, or the name of a folder in its path, differs from
 * another only in case: many machines can't check out both. `startPaths` are the paths in the
 * commit that the tree was made from. `refusal` tells why a new or changed file is left out in any
 * case, or null. Rejects with a `TurnFailedError` if there are more files than a pull request may
 * have.
 */
export async function selectChanges(
  changes: readonly TreeChange[],
  startPaths: Iterable<string>,
  isDoc: (path: string) => boolean,
  refusal: (path: string) => WhyLeftOut | null,
): Promise<Selection> {
  const giveWay = createGiveWay();
  const wanted: DocsChange[] = [];
  const leftOut: LeftOutFile[] = [];
  for (const { path, kind } of changes) {
    await giveWay();
    const why = kind === "other" || !isDoc(path) ? "other" : refusal(path);
    if (why !== null) leftOut.push({ path, why });
    else if (kind !== "other") wanted.push({ path, kind });
  }
  // Before anything is done with all folders of each.
  assertFew(wanted);

  const added = new Set(wanted.filter(({ kind }) => kind === "added").map(({ path }) => path));
  if (added.size === 0) return { committed: wanted, leftOut };
  const deleted = new Set(wanted.filter(({ kind }) => kind === "deleted").map(({ path }) => path));
  const isInTheWay = await findPlaces(startPaths, deleted, giveWay);
  const committed: DocsChange[] = [];
  for (const change of wanted) {
    await giveWay();
    if (added.has(change.path) && isInTheWay(change.path)) leftOut.push({ path: change.path, why: "other" });
    else committed.push(change);
  }
  return { committed, leftOut };
}

/**
 * Resolves to a function that tells whether a new file can't be at its path, because of what stays
 * or of a file that it was asked about before.
 */
async function findPlaces(
  startPaths: Iterable<string>,
  deleted: ReadonlySet<string>,
  giveWay: () => Promise<void>,
): Promise<(path: string) => boolean> {
  const staying = new Set<string>();
  const stayingFolders = new Set<string>();
  for (const path of startPaths) {
    await giveWay();
    if (deleted.has(path)) continue;
    staying.add(path);
    for (const folder of parentsOf(path)) stayingFolders.add(folder);
  }
  /**
   * How each file or folder in the result is spelled, by the form in which a file system may
   * compare it.
   */
  const spellings = new Map<string, string>();
  for (const names of [staying, stayingFolders]) {
    for (const name of names) {
      await giveWay();
      spellings.set(foldedName(name), name);
    }
  }
  return (path) => {
    const folders = parentsOf(path);
    const names = [path, ...folders].map((name) => [foldedName(name), name] as const);
    const isTaken =
      stayingFolders.has(path) ||
      folders.some((folder) => staying.has(folder)) ||
      names.some(([key, name]) => (spellings.get(key) ?? name) !== name);
    if (!isTaken) for (const [key, name] of names) spellings.set(key, name);
    return isTaken;
  };
}

const MAX_FILES = 1000;

function assertFew({ length }: readonly DocsChange[]): void {
  if (length <= MAX_FILES) return;
  throw new TurnFailedError(`The agent changed ${length} files; a pull request may have ${MAX_FILES}.`);
}

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
