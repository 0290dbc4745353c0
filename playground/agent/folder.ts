import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";

const MAX_FILES = 5_000;
const LEFT_OUT = new Set([".git", "node_modules", "dist", "build", "vendor"]);

/**
 * Lists the names of the files in a folder: relative, with "/", sorted, at most 5,000. Doesn't
 * follow links.
 */
export async function listFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [""];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    for (const entry of entries.toSorted((one, other) => one.name.localeCompare(other.name))) {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) folders.push(path);
      if (entry.isFile()) found.push(path);
      if (found.length >= MAX_FILES) return found.toSorted();
    }
  }
  return found.toSorted();
}

/** True for Markdown and MDX, the only files that this agent edits. */
export function isPage(path: string): boolean {
  return /\.mdx?$/i.test(path);
}

/** True if the name ends in `.mdx`. */
export function isMdx(path: string): boolean {
  return /\.mdx$/i.test(path);
}
