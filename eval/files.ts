import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { applyPatch, createTwoFilesPatch, FILE_HEADERS_ONLY, parsePatch } from "diff";

/** The contents of a repository's files, by their paths in it. */
export type Files = ReadonlyMap<string, Buffer>;

/** Reads the files of a folder, but no links and nothing of git's. */
export async function readFiles(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith(".git/"))
    .toSorted();
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path))] as const)),
  );
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/**
 * Applies a patch in the form of `git diff --no-renames`. Throws an `Error` if a part doesn't fit,
 * and names that part.
 */
export function patched(files: Files, patch: string): Map<string, Buffer> {
  const result = new Map(files);
  for (const part of parsePatch(patch)) {
    const from = pathIn(part.oldFileName);
    const to = pathIn(part.newFileName);
    const text = from === null ? "" : textOf(files.get(from));
    if (text === null) throw new Error(`The patch changes ${from}, which isn't there.`);
    const changed = applyPatch(text, part, { fuzzFactor: 0 });
    if (changed === false) throw new Error(`The patch doesn't fit ${from ?? to}.`);
    if (from !== null) result.delete(from);
    if (to !== null) result.set(to, Buffer.from(changed));
  }
  return result;
}

/**
 * The files that a patch of {@link patchOf} only names, with bytes that are neither those before
 * nor those after.
 */
export function changedData(patch: string): Map<string, Buffer> {
  const named = [...patch.matchAll(/^Binary file (.+) differs$/gm)];
  return new Map(named.map(({ 1: path = "" }) => [path, Buffer.from(`\0${path}`)]));
}

/** A patch from one state of the files to another. Files that aren't text are only named. */
export function patchOf(base: Files, result: Files): string {
  return changedPaths(base, result)
    .map((path) => {
      const [before, after] = [base.get(path), result.get(path)];
      if (isBinary(before) || isBinary(after)) return `Binary file ${path} differs\n`;
      return createTwoFilesPatch(
        before === undefined ? "/dev/null" : `a/${path}`,
        after === undefined ? "/dev/null" : `b/${path}`,
        before?.toString() ?? "",
        after?.toString() ?? "",
        undefined,
        undefined,
        { context: 3, headerOptions: FILE_HEADERS_ONLY },
      );
    })
    .join("");
}

/** The lines of text that a change adds and removes, each with its mark. */
export function changedLines(base: Files, result: Files): string[] {
  return parsePatch(patchOf(base, result))
    .flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines))
    .filter((line) => /^[+-]/.test(line));
}

/** The paths of files that were added, removed or changed. */
export function changedPaths(base: Files, result: Files): string[] {
  const paths = new Set([...base.keys(), ...result.keys()]);
  return [...paths]
    .filter((path) => {
      const [before, after] = [base.get(path), result.get(path)];
      return before === undefined || after === undefined || !before.equals(after);
    })
    .toSorted();
}

/** The text of a file. Null if there is no file, or it isn't text. */
export function textOf(content: Buffer | undefined): string | null {
  return content === undefined || isBinary(content) ? null : content.toString("utf8");
}

/** The text files among these paths. */
export function textsOf(files: Files, isMeant: (path: string) => boolean): [path: string, text: string][] {
  return [...files].flatMap(([path, content]): [string, string][] => {
    const text = isMeant(path) ? textOf(content) : null;
    return text === null ? [] : [[path, text]];
  });
}

function isBinary(content: Buffer | undefined): boolean {
  return content?.includes(0) ?? false;
}

function pathIn(name: string | undefined): string | null {
  return name === undefined || name === "/dev/null" ? null : name.replace(/^[ab]\//, "");
}
