import { createHash } from "node:crypto";
import { opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { openInside, OutsideTreeError } from "../confined-files.ts";
import type { Snapshot } from "../git/snapshot.ts";
import { TurnFailedError } from "../run-error.ts";

/** What differs from the start. `other`: what can't be committed, such as links, sockets and folders nobody may read. */
export type TreeChange = { path: string; kind: "added" | "modified" | "deleted" | "other" };

const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 60;
/** Installed packages: thousands of Markdown files that nobody wrote for these docs. */
const SKIPPED_FOLDERS = new Set(["node_modules", ".git"]);

/**
 * Compares the tree at `root` (a real path) with the snapshot that it was made from; `written` are the paths that were there at the
 * start. Follows no link. Contents are compared, not times, which can be forged.
 * Throws a `TurnFailedError` if there are too many files.
 */
export async function scanTree(
  root: string,
  snapshot: Snapshot,
  written: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<TreeChange[]> {
  const changes: TreeChange[] = [];
  const present = new Set<string>();
  /** Names that are no folders now: what was below them was not deleted by anybody who meant it. */
  const blocked = new Set<string>();
  let entries = 0;

  async function walk(folder: string, depth: number): Promise<void> {
    signal.throwIfAborted();
    for await (const entry of await opendir(join(root, folder))) {
      if (++entries > MAX_ENTRIES) {
        throw new TurnFailedError(`The agent left more than ${MAX_ENTRIES} files behind.`);
      }
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        await enter(path, entry.name, depth);
      } else {
        present.add(path);
        const kind = await kindOf(path, entry.isFile(), entry.isSymbolicLink());
        if (kind === "other") blocked.add(path);
        if (kind !== "same") changes.push({ path, kind });
      }
    }
  }

  async function enter(path: string, name: string, depth: number): Promise<void> {
    if (SKIPPED_FOLDERS.has(name) && !hasBelow(written, path)) {
      changes.push({ path: `${path}/`, kind: "other" });
    } else if (depth >= MAX_DEPTH) {
      throw new TurnFailedError(`The agent left folders more than ${MAX_DEPTH} deep behind.`);
    } else {
      await walk(path, depth + 1).catch((error: unknown) => {
        if (!isRefusedAccess(error)) throw error;
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
    const before = written.has(path) ? snapshot.entries.get(path) : undefined;
    if (isLink) {
      const target = await readlink(join(root, path));
      return before?.mode === "120000" && before.oid === oidOf([Buffer.from(target)]) ? "same" : "other";
    }
    if (!isFile || before?.mode === "120000") return "other";
    const oid = await fileOid(root, path);
    if (oid === null) return "other";
    // What was in the snapshot but not written (a name we could not use) is not replaced either.
    if (!before) return snapshot.entries.has(path) ? "other" : "added";
    return oid === before.oid ? "same" : "modified";
  }

  await walk("", 0);
  for (const path of written) {
    if (!present.has(path)) changes.push({ path, kind: isBelow(path, blocked) ? "other" : "deleted" });
  }
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Git's id of a file's content; null if it is no file that we would read. */
async function fileOid(root: string, path: string): Promise<string | null> {
  try {
    const { file, stats } = await openInside(root, path);
    await using _closing = file;
    const hash = createHash("sha1").update(`blob ${stats.size}\0`);
    for await (const chunk of file.createReadStream({ autoClose: false, end: Math.max(0, stats.size - 1) })) {
      hash.update(chunk);
    }
    return hash.digest("hex");
  } catch (error) {
    if (error instanceof OutsideTreeError) return null;
    throw error;
  }
}

function oidOf(parts: readonly Buffer[]): string {
  const content = Buffer.concat(parts);
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    if (folders.has(path.slice(0, end))) return true;
  }
  return false;
}

function hasBelow(paths: ReadonlySet<string>, folder: string): boolean {
  for (const path of paths) if (path.startsWith(`${folder}/`)) return true;
  return false;
}

function isRefusedAccess(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "ENOENT");
}
