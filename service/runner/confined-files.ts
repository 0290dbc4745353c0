import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { codeOf, DocsAgentError } from "../../src/core/errors.ts";

/** Somebody asked for a file that is not a regular file inside the tree. */
export class OutsideTreeError extends DocsAgentError {
  readonly code = "outside_tree";

  constructor(what: string) {
    super(`${what}. Only regular files inside the working directory can be used.`);
  }
}

/** Opening a FIFO must not wait for its other end; opening a link must not follow it. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** True if `path`, absolute or relative to `root`, lies inside `root` by its name alone. */
export function isInside(root: string, path: string): boolean {
  const rest = relative(root, resolve(root, path));
  return rest !== "" && rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

/**
 * Opens a regular file inside `root` for reading, never through a link at its end and never
 * outside, also when somebody changes the folders meanwhile. Throws an {@link OutsideTreeError}.
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
    // Another name of a file that may lie anywhere.
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
 * Reads a regular file inside `root`; null: there is none, or it has more bytes. What is written
 * to it meanwhile isn't read.
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
 * Where an open file is. Linux knows that of the descriptor, so that no exchange of a folder by a
 * link can deceive; elsewhere the name is resolved once more and must lead to the same file.
 */
async function pathOf(file: FileHandle, stats: Stats, name: string): Promise<string> {
  if (process.platform === "linux") return readlink(`/proc/self/fd/${file.fd}`);
  const real = await realpath(name);
  const now = await lstat(real);
  if (now.ino !== stats.ino || now.dev !== stats.dev) throw new OutsideTreeError("The file was exchanged");
  return join(real);
}
