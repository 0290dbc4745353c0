import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openInside } from "../confined-files.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import type { DocsChange } from "./select-changes.ts";

const MAX_FILES = 1000;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES = 50 * 1024 * 1024;

/**
 * Copies what will be committed out of the tree at `root` into the folder `copies`. Resolves to the
 * copies by path in the tree. Throws a `TurnFailedError` if it is too much, if a file can't be read
 * any more, or if its name or content holds one of `secrets`: a pull request is the way out for
 * whatever the agent was trusted with.
 */
export async function copyChanges(
  root: string,
  changes: readonly DocsChange[],
  secrets: readonly string[],
  copies: string,
): Promise<Map<string, string>> {
  if (changes.length > MAX_FILES) {
    throw new TurnFailedError(
      `The agent changed ${changes.length} files; a pull request may have ${MAX_FILES}.`,
    );
  }
  const needles = secrets.map((secret) => Buffer.from(secret));
  let totalBytes = 0;
  const copied = new Map<string, string>();
  await mkdir(copies, { mode: 0o700 });
  for (const { path, kind } of changes) {
    if (kind === "deleted") continue;
    if (kind === "added" && secrets.some((secret) => path.includes(secret))) {
      throw new TurnFailedError("The agent put a secret into the name of a file. Nothing was pushed.");
    }
    const content = await readFileInside(root, path);
    totalBytes += content.length;
    if (totalBytes > MAX_TOTAL_BYTES) {
      throw new TurnFailedError(
        `The changed files have more than ${MAX_TOTAL_BYTES / 1024 / 1024} MB together.`,
      );
    }
    if (needles.some((needle) => content.includes(needle))) {
      throw new TurnFailedError(`The agent wrote a secret into ${path}. Nothing was pushed.`);
    }
    const copy = join(copies, String(copied.size));
    await writeFile(copy, content, { mode: 0o600, flag: "wx" });
    copied.set(path, copy);
  }
  return copied;
}

async function readFileInside(root: string, path: string): Promise<Buffer> {
  const { file, stats } = await openInside(root, path);
  await using _closing = file;
  if (stats.size > MAX_FILE_BYTES) {
    throw new TurnFailedError(`${path} has more than ${MAX_FILE_BYTES / 1024 / 1024} MB.`);
  }
  const content = Buffer.alloc(stats.size);
  let at = 0;
  while (at < content.length) {
    const { bytesRead } = await file.read(content, at, content.length - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return content.subarray(0, at);
}
