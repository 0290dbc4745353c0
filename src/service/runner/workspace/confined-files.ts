import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf } from "../../../shared/errors.ts";
import { isInside } from "../../base/paths.ts";

/** Opening a FIFO mustn't wait for its other end, and opening a link mustn't follow it. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** The machine is at fault, not the file, so its turn runs again. */
const OUT_OF_ORDER = new Set(["EMFILE", "ENFILE", "ENOMEM", "EIO"]);

/**
 * Opens a regular file inside `root` for reading. Never follows a link at its end and never leaves
 * `root`, even if somebody changes the folders at the same time. Null if there is no such file.
 * Rejects if the machine can't open any.
 */
export async function openInside(root: string, path: string) {
  if (path.includes("\0") || !isInside(root, path)) return null;
  const name = resolve(root, path);
  const file = await open(name, constants.O_RDONLY | SAFELY).catch((error: unknown) => {
    if (OUT_OF_ORDER.has(codeOf(error) ?? "")) throw error;
    return null;
  });
  if (file === null) return null;
  await using unlessReturned = new AsyncDisposableStack();
  unlessReturned.use(file);
  const stats = await file.stat();
  // With several names (hard links), another one could be anywhere.
  if (!stats.isFile() || stats.nlink !== 1) return null;
  const real = await pathOf(file, stats, name);
  if (real === null || !isInside(root, real)) return null;
  unlessReturned.move();
  return { file, stats };
}

/**
 * Reads a regular file inside `root`. Null if there is none, or it is larger. Anything written to
 * it in the meantime isn't read.
 */
export async function readInside(root: string, path: string, maxBytes: number): Promise<Buffer | null> {
  const opened = await openInside(root, path);
  if (opened === null) return null;
  const { file, stats } = opened;
  await using _ = file;
  if (stats.size > maxBytes) return null;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  return buffer.subarray(0, bytesRead);
}

/**
 * The real path of an open file. Linux knows it from the descriptor, so replacing a folder by a
 * link can't deceive us. On other systems, the name is resolved again and must lead to the same
 * file, or the answer is null.
 */
async function pathOf(file: FileHandle, stats: Stats, name: string): Promise<string | null> {
  if (process.platform === "linux") return readlink(`/proc/self/fd/${file.fd}`);
  const real = await realpath(name);
  const now = await lstat(real);
  return now.ino === stats.ino && now.dev === stats.dev ? real : null;
}
