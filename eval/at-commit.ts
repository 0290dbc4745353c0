import type { Files } from "./files.ts";
import { blobsIn, git } from "./git.ts";

/** Larger files, mostly pictures and data, are left out. */
const MAX_FILE_BYTES = 512 * 1024;
/** With more than this, files at the end of the list are left out. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Contents by repository and object, because commits of one repository share most of them. */
const known = new Map<string, Map<string, Buffer>>();

/**
 * The files of a repository as they stood in a commit, but no links and nothing that is very large.
 * Rejects with an `EvalOptionError` if there is no such commit.
 */
export async function filesAt(gitDir: string, commit: string): Promise<Files> {
  const listed = await git(["--git-dir", gitDir, "ls-tree", "-r", "-z", "-l", commit]);
  let bytes = 0;
  const entries = listed
    .toString()
    .split("\0")
    .flatMap((line) => {
      const [, type, id, size, path] = /^(\d+) \w+ (\w+) +(\d+|-)\t(.+)$/s.exec(line) ?? [];
      const isFile = type !== undefined && type.startsWith("100");
      if (!isFile || id === undefined || path === undefined) return [];
      if (!(Number(size) <= MAX_FILE_BYTES)) return [];
      bytes += Number(size);
      return bytes > MAX_BYTES ? [] : [{ id, path }];
    });
  const contents = known.get(gitDir) ?? new Map<string, Buffer>();
  known.set(gitDir, contents);
  const missing = [...new Set(entries.map(({ id }) => id))].filter((id) => !contents.has(id));
  for (const [id, content] of await blobsIn(gitDir, missing)) contents.set(id, content);
  return new Map(
    entries.flatMap(({ id, path }) => {
      const content = contents.get(id);
      return content === undefined ? [] : [[path, content] as const];
    }),
  );
}
