import { createHash } from "node:crypto";
import { chmod, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../../shared/errors.ts";
import { createGiveWay } from "../../../base/give-way.ts";
import { openInside } from "../confined-files.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import type { TreeStart } from "./fill-tree.ts";
import { parentsOf } from "./names.ts";
import { foldersOf, identityAt } from "./written-files.ts";

/**
 * A difference from the start. `other` is something that can't be committed, such as links, sockets
 * and folders that nobody may read.
 */
export type TreeChange = { path: string; kind: "added" | "modified" | "deleted" | "other" };

const MAX_ENTRIES = 200_000;
/** Of all paths together that weren't there. Each is looked at several times. */
const MAX_PATHS_CHARS = 16 * 1024 ** 2;
const MAX_DEPTH = 60;
/** Only files that were touched and still have their old size are read at all. */
const MAX_READ_BYTES = 2 * 1024 ** 3;
/** The file is inaccessible, gone, or in more folders than a path can name. */
const OUT_OF_REACH = new Set(["EACCES", "ENOENT", "ENAMETOOLONG", "ELOOP"]);
/** Installed packages: thousands of Markdown files that don't belong to these docs. */
const SKIPPED_FOLDERS = new Set(["node_modules", ".git"]);

/**
 * Compares the tree at `root` (a real path) with its start. Follows no link. A file that has
 * changed its state is compared by size, then by content, and never by times, which can be forged.
 * Rejects with a `TurnFailedError` if there is too much to compare, and with the signal's reason if
 * aborted.
 */
export async function scanTree(
  root: string,
  { snapshot, written, hasFineTimes }: TreeStart,
  signal: AbortSignal,
  maxReadBytes = MAX_READ_BYTES,
): Promise<TreeChange[]> {
  const changes: TreeChange[] = [];
  const present = new Set<string>();
  /** Names that are no longer folders. Nobody meant to delete the files that were below them. */
  const blocked = new Set<string>();
  const giveWay = createGiveWay();
  const foldersBefore = new Set(foldersOf(written.keys()));
  let entries = 0;
  let pathsChars = 0;
  let readBytes = 0;

  async function walk(folder: string, depth: number): Promise<void> {
    for await (const entry of await opendir(join(root, folder), { bufferSize: 1024 })) {
      signal.throwIfAborted();
      await giveWay();
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!written.has(path)) countNew(path);
      if (entry.isDirectory()) {
        await enter(path, entry.name, depth);
      } else {
        present.add(path);
        const before = hasFineTimes ? written.get(path) : undefined;
        if (before && entry.isFile() && identityAt(join(root, path)) === before.identity) continue;
        const kind = await kindOf(path, entry.isFile(), entry.isSymbolicLink());
        if (kind === "other") blocked.add(path);
        if (kind !== "same") changes.push({ path, kind });
      }
    }
  }

  function countNew(path: string): void {
    entries += 1;
    pathsChars += path.length;
    if (entries > MAX_ENTRIES) {
      throw new TurnFailedError(`The agent left more than ${MAX_ENTRIES} files behind.`);
    }
    if (pathsChars > MAX_PATHS_CHARS) {
      const megabytes = MAX_PATHS_CHARS / 1024 ** 2;
      throw new TurnFailedError(
        `The agent left files behind whose paths have more than ${megabytes} million characters together.`,
      );
    }
  }

  async function enter(path: string, name: string, depth: number): Promise<void> {
    if (SKIPPED_FOLDERS.has(name) && !foldersBefore.has(path)) {
      changes.push({ path: `${path}/`, kind: "other" });
    } else if (depth >= MAX_DEPTH) {
      throw new TurnFailedError(`The agent left folders more than ${MAX_DEPTH} deep behind.`);
    } else {
      await walk(path, depth + 1).catch((error: unknown) => {
        if (!OUT_OF_REACH.has(codeOf(error) ?? "")) throw error;
        blocked.add(path);
        changes.push({ path: `${path}/`, kind: "other" });
      });
    }
  }

  async function kindOf(
    path: string,
    isFile: boolean,
    isLink: boolean,
  ): Promise<TreeChange["kind"] | "same"> {
    const before = written.get(path);
    if (isLink) {
      const target = await readlink(join(root, path), "buffer");
      const oid = createHash("sha1").update(`blob ${target.length}\0`).update(target).digest("hex");
      return before?.mode === "120000" && before.oid === oid ? "same" : "other";
    }
    if (!isFile || before?.mode === "120000") return "other";
    const opened = await openInside(root, path);
    if (opened === null) return "other";
    const { file, stats } = opened;
    await using _closing = file;
    // Something in the snapshot that wasn't written (because we couldn't use its name) isn't
    // replaced either.
    if (!before) return snapshot.has(path) ? "other" : "added";
    if (stats.size !== before.size) return "modified";
    readBytes += stats.size;
    if (readBytes > maxReadBytes) {
      throw new TurnFailedError(
        `The agent touched more than ${maxReadBytes} bytes of files, too much to compare with ` +
          "the repository.",
      );
    }
    const hash = createHash("sha1").update(`blob ${stats.size}\0`);
    const stream = file.createReadStream({ autoClose: false, end: Math.max(0, stats.size - 1) });
    for await (const chunk of stream) {
      signal.throwIfAborted();
      hash.update(chunk);
    }
    return hash.digest("hex") === before.oid ? "same" : "modified";
  }

  // Its agent may have taken away the permissions. What is below stays as it was left.
  await chmod(root, 0o700);
  await walk("", 0);
  for (const path of written.keys()) {
    await giveWay();
    if (present.has(path)) continue;
    const isBlocked = parentsOf(path).some((folder) => blocked.has(folder));
    changes.push({ path, kind: isBlocked ? "other" : "deleted" });
  }
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
