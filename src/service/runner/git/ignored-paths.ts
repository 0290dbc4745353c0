import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SafeGit } from "./git.ts";
import { readObjects } from "./object-batch.ts";

/** Before a path, so that git takes none that begins with a colon for more than a name. */
const HERE = "./";

/**
 * Which of `paths` the repository's own ignore files, `rules`, as they were at the start, tell git to ignore. `scratch` is an empty
 * folder of our own: git reads the ignore files from there, and nothing from the tree that the agent worked in.
 */
export async function ignoredPaths(
  git: SafeGit,
  gitDir: string,
  rules: readonly { path: string; oid: string }[],
  paths: readonly string[],
  scratch: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  if (rules.length === 0 || paths.length === 0) return new Set();
  const oids = rules.map(({ oid }) => oid);
  for (const [index, content] of (await readObjects(git, gitDir, oids, signal)).entries()) {
    const file = join(scratch, rules[index]?.path ?? "");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  const ignored = await git.lines({
    args: ["check-ignore", "--no-index", "-z", "--stdin"],
    gitDir,
    env: { GIT_WORK_TREE: scratch },
    cwd: scratch,
    stdin: Buffer.from(paths.map((path) => `${HERE}${path}\0`).join("")),
    // 1: none of them.
    okCodes: [0, 1],
    signal,
  });
  return new Set(ignored.map((path) => path.slice(HERE.length)));
}
