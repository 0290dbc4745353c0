import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf, DocsAgentError } from "../../src/core/errors.ts";
import { isInside } from "../base/paths.ts";

/** The requested file isn't a regular file inside the tree. */
export class OutsideTreeError extends DocsAgentError {
  readonly code = "outside_tree";

  constructor(what: string) {
    super(`${what}. Only regular files inside the working directory can be used.`);
  }
}

/** Opening a FIFO mustn't wait for its other end, and opening a link mustn't follow it. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a regular file inside `root` for reading. Never follows a link at its end and never leaves
 * `root`, even if somebody changes the folders at the same time. Throws an {@link
 * OutsideTreeError}.
 */
export async function openInside(root: string, path: string): Promise<{ file: FileHandle; stats: Stats }> {
  if (path.includes("\0") || !isInside(root, path))
    throw new OutsideTreeError("The path leads out of the tree");
  const file = await open(resolve(root, path), constants.O_RDONLY | SAFELY).catch((error: unknown) => {
    throw new OutsideTreeError(`The file cannot be opened (${codeOf(error)})`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new OutsideTreeError("That is no regular file");
    // The file has another name, which could be anywhere.
    if (stats.nlink !== 1) throw new OutsideTreeError("That file has several names (hard links)");
    if (!isInside(root, await pathOf(file, stats, resolve(root, path)))) {
      throw new OutsideTreeError("The path leads out of the tree");
    }
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Reads a regular file inside `root`. Null if there is none, or it is larger. Anything written to
 * it in the meantime isn't read.
 */
export async function readInside(root: string, path: string, maxBytes: number): Promise<Buffer | null> {
  try {
    const { file, stats } = await openInside(root, path);
    await using _ = file;
    if (stats.size > maxBytes) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof OutsideTreeError) return null;
    throw error;
  }
}

/**
 * The real path of an open file. Linux knows it from the descriptor, so replacing a folder by a
 * link can't deceive us. On other systems, the name is resolved again and must lead to the same
 * file.
 */
async function pathOf(file: FileHandle, stats: Stats, name: string): Promise<string> {
  if (process.platform === "linux") return readlink(`/proc/self/fd/${file.fd}`);
  const real = await realpath(name);
  const now = await lstat(real);
  if (now.ino !== stats.ino || now.dev !== stats.dev) throw new OutsideTreeError("The file was exchanged");
  return join(real);
}
