import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createCodeHost } from "../../world/code-host/index.ts";
import { openKeptDir } from "./temp-dir.ts";

/** The repositories that this process has made, by the files in them. A copy is faster than git. */
const repositories = new Map<string, Promise<string>>();

/**
 * Resolves to the path of a bare repository whose only commit, on `main`, has these files. Use a
 * copy of it.
 */
export function repositoryOf(files: Record<string, string | Buffer>): Promise<string> {
  const key = JSON.stringify(files);
  const known = repositories.get(key);
  if (known !== undefined) return known;
  const made = makeRepository(files);
  repositories.set(key, made);
  made.catch(() => repositories.delete(key));
  return made;
}

async function makeRepository(files: Record<string, string | Buffer>): Promise<string> {
  const dir = await openKeptDir();
  await writeFiles(dir.file("start"), files);
  await using codeHost = await createCodeHost({
    dataDir: dir.path,
    tokens: [],
    searchPath: process.env["PATH"],
  });
  await codeHost.createRepository("acme", "docs", dir.file("start"));
  const config = dir.file("repositories/acme/docs.git/config");
  // Git's housekeeping after each push would find nothing to do.
  await appendFile(config, "[receive]\n\tautogc = false\n");
  return dir.file("repositories/acme/docs.git");
}

/** Writes files, and the folders for them, below a folder. */
export async function writeFiles(root: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}
