import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SafeGit } from "./git.ts";
import { readObjects } from "./object-batch.ts";

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
  let file = "";
  let content: Buffer[] = [];
  await readObjects(
    git,
    gitDir,
    rules.map(({ oid }) => oid),
    {
      begin(index) {
        file = join(scratch, rules[index]?.path ?? "");
        content = [];
      },
      chunk: (bytes) => content.push(bytes),
      end() {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, Buffer.concat(content));
      },
    },
    signal,
  );
  const ignored = await git.lines({
    args: ["check-ignore", "--no-index", "-z", "--stdin"],
    gitDir,
    env: { GIT_WORK_TREE: scratch },
    cwd: scratch,
    stdin: Buffer.from(paths.map((path) => `${path}\0`).join("")),
    // 1: none of them.
    okCodes: [0, 1],
    signal,
  });
  return new Set(ignored);
}
