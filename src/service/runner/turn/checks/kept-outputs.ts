import { createHash } from "node:crypto";
import { lstat, mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../../../shared/errors.ts";
import type { CommandCheck } from "../../../config/check-settings.ts";
import { readInside } from "../../workspace/confined-files.ts";
import { locate } from "../../workspace/sandbox/program.ts";
import type { ToolOutput } from "./output-lines.ts";

const MAX_CHARS = 32 * 1024 ** 2;
const HOUR_MS = 60 * 60_000;

/**
 * The newest outputs of checks on base commits, in memory, so that follow-ups needn't run them
 * again. A check may have been run several times, to see what differs.
 */
export class KeptOutputs {
  readonly #kept = new Map<string, readonly ToolOutput[]>();

  get(key: string): readonly ToolOutput[] {
    return this.#kept.get(key) ?? [];
  }

  keep(key: string, outputs: readonly ToolOutput[]): void {
    this.#kept.delete(key);
    this.#kept.set(key, outputs);
    let chars = 0;
    for (const [each, kept] of [...this.#kept].toReversed()) {
      chars += kept.reduce((sum, { text }) => sum + text.length, each.length);
      if (chars > MAX_CHARS) this.#kept.delete(each);
    }
  }
}

/**
 * Identifies a check's output for a commit. It differs with another program or other settings, and
 * each hour, because the files below what a check may read can change without a trace here.
 */
export async function outputKey(
  commit: string,
  check: CommandCheck,
  { searchPath, nowMs }: { searchPath: string; nowMs: number },
): Promise<string> {
  const program = await locate(check.command[0] ?? "", searchPath);
  const shown = [program ?? "", ...check.readable, ...check.mounts.map(({ from }) => from)];
  const times = await Promise.all(shown.map(async (path) => (await stat(path).catch(() => null))?.mtimeMs));
  return createHash("sha256")
    .update(JSON.stringify([commit, check, times, Math.floor(nowMs / HOUR_MS)]))
    .digest("hex");
}

/** Why a check doesn't run. `details` are for the operator. */
export type Obstacle = { why: string; details?: string };

const LOCK_FILES = ["package-lock.json", "yarn.lock", "pnpm-lock.yaml"];
const MAX_LOCK_BYTES = 32 * 1024 ** 2;

/**
 * Creates the places for a check's mounts in a tree that nobody else writes to, and checks that its
 * folder is there. Resolves to null if nothing is in the way.
 */
export async function preparePlaces(tree: string, { cwd, mounts }: CommandCheck): Promise<Obstacle | null> {
  for (const { from, at } of mounts) {
    const folder = await stat(from).catch(() => null);
    if (folder?.isDirectory() !== true)
      return { why: "what it needs isn't installed.", details: `There is no folder ${from}.` };
    if (!(await isFolder(tree, at, { isMade: true }))) return { why: `${at} is a file or a link.` };
    const lockFile = await differingLock(dirname(from), tree, dirname(at));
    if (lockFile !== null) {
      const details = `${join(dirname(from), lockFile)} differs. Copy the repository's, and install again.`;
      return { why: `the installed packages don't match the repository's ${lockFile}.`, details };
    }
  }
  return (await isFolder(tree, cwd)) ? null : { why: `there is no folder ${cwd}.` };
}

/**
 * True if there is a folder in the tree at this path, without a link on the way. With `isMade`, it
 * is created if nothing is in the way.
 */
async function isFolder(tree: string, path: string, { isMade = false } = {}): Promise<boolean> {
  let at = tree;
  for (const part of path.split("/")) {
    at = join(at, part);
    const stats = await lstat(at).catch(() => null);
    if (stats === null && isMade) await mkdir(at, { mode: 0o700 });
    else if (stats?.isDirectory() !== true) return false;
  }
  return true;
}

/** The first lock file beside the mounted folder that differs from the repository's. */
async function differingLock(installed: string, tree: string, folder: string): Promise<string | null> {
  for (const name of LOCK_FILES) {
    const ours = await readFile(join(installed, name)).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    });
    if (ours === null) continue;
    const theirs = await readInside(tree, join(folder, name), MAX_LOCK_BYTES);
    if (theirs === null || !ours.equals(theirs)) return name;
  }
  return null;
}
