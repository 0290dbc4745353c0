import { closeSync, mkdirSync, openSync, symlinkSync, writeSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { SafeGit } from "./git.ts";
import { readObjects } from "./object-batch.ts";
import type { Snapshot, SnapshotEntry } from "./snapshot.ts";

const MAX_LINK_BYTES = 4096;

/**
 * Writes a snapshot's files into the empty folder `root`: bytes as they are in the repository (no filter, no line ending is
 * applied), links only where they stay inside, no submodules, and no `.git`: whoever works there can reach no repository of ours
 * through it. Returns the paths that were written.
 */
export async function materialise(
  git: SafeGit,
  gitDir: string,
  snapshot: Snapshot,
  root: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const entries = [...snapshot.entries.values()].filter(({ path }) => isSafePath(path));
  const files = entries.filter(({ mode }) => mode === "100644" || mode === "100755");
  const links = entries.filter(({ mode }) => mode === "120000");
  const written = new Set<string>();
  const folders = new Set<string>();

  let fd = -1;
  await readObjects(
    git,
    gitDir,
    oidsOf(files),
    {
      begin(index) {
        const { path, mode } = at(files, index);
        const folder = dirname(join(root, path));
        if (!folders.has(folder)) mkdirSync(folder, { recursive: true });
        folders.add(folder);
        // "wx" follows no link, and there is none yet: links come last.
        fd = openSync(join(root, path), "wx", mode === "100755" ? 0o755 : 0o644);
        written.add(path);
      },
      chunk: (bytes) => writeAll(fd, bytes),
      end: () => closeSync(fd),
    },
    signal,
  );

  let target: Buffer[] = [];
  let current: SnapshotEntry | undefined;
  await readObjects(
    git,
    gitDir,
    oidsOf(links),
    {
      begin(index) {
        current = at(links, index);
        target = [];
      },
      chunk: (bytes) => target.push(bytes),
      end() {
        if (current && link(root, current.path, Buffer.concat(target))) written.add(current.path);
      },
    },
    signal,
  );
  return written;
}

/** Whether git and we can use the path: nothing that leaves the folder, and nothing that git would take for its own. */
export function isSafePath(path: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (path === "" || path.startsWith("/") || /[\u0000-\u001f\u007f\\\ufffd]/.test(path)) return false;
  return path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && !/^\.git$|^git~\d/i.test(part));
}

function link(root: string, path: string, bytes: Buffer): boolean {
  const target = bytes.toString("utf8");
  if (bytes.length > MAX_LINK_BYTES || target.startsWith("/") || target.includes("\0")) return false;
  const end = normalize(join(dirname(path), target));
  if (end === ".." || end.startsWith("../")) return false;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
  return true;
}

function writeAll(fd: number, bytes: Buffer): void {
  let at = 0;
  while (at < bytes.length) at += writeSync(fd, bytes, at);
}

function oidsOf(entries: readonly SnapshotEntry[]): string[] {
  return entries.map(({ oid }) => oid);
}

function at(entries: readonly SnapshotEntry[], index: number): SnapshotEntry {
  const entry = entries[index];
  if (!entry) throw new RangeError(`There is no entry ${index}`);
  return entry;
}
