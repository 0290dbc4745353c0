import { lstat, mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../../src/core/errors.ts";
import { readInside } from "../confined-files.ts";
import type { ServiceProject } from "../../config/config.ts";

/** A check of a project's settings. */
export type CheckSettings = ServiceProject["verify"][number];

/** Why a check doesn't run. `details` are for the operator. */
export type Obstacle = { why: string; details?: string };

const LOCK_FILES = ["package-lock.json", "yarn.lock", "pnpm-lock.yaml"];
const MAX_LOCK_BYTES = 32 * 1024 ** 2;

/**
 * Makes the places of a check's mounts in a tree that nobody else writes to, and looks for its
 * folder there. Null: everything is as it should be.
 */
export async function preparePlaces(tree: string, { cwd, mounts }: CheckSettings): Promise<Obstacle | null> {
  for (const { from, at } of mounts) {
    const folder = await stat(from).catch(() => null);
    if (folder?.isDirectory() !== true)
      return { why: "what it needs isn't installed.", details: `There is no folder ${from}.` };
    if (!(await isFolder(tree, at, { isMade: true }))) return { why: `${at} is a file or a link.` };
    const lockFile = await differingLock(dirname(from), tree, dirname(at));
    if (lockFile !== null) {
      const details = `${join(dirname(from), lockFile)} isn't the repository's. Install from that one again.`;
      return { why: `what is installed for it doesn't belong to this ${lockFile}.`, details };
    }
  }
  return (await isFolder(tree, cwd)) ? null : { why: `there is no folder ${cwd}.` };
}

/**
 * Whether there is a folder in the tree that no link leads through. `isMade`: it is made where
 * nothing is in the way.
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

/** The first of the lock files beside what is mounted that the repository has another one of. */
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
