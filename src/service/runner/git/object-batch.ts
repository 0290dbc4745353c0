import type { SafeGit } from "./git.ts";
import { GitError } from "./git-fault.ts";

const LINE_FEED = 0x0a;

/** Reads small objects with one process (`git cat-file --batch`), in the order of `oids`. A `GitError` if they are more than 64 MiB. */
export async function readObjects(
  git: SafeGit,
  gitDir: string,
  oids: readonly string[],
  signal: AbortSignal,
): Promise<Buffer[]> {
  if (oids.length === 0) return [];
  const stdin = `${oids.join("\n")}\n`;
  const answer = await git.run({ args: ["cat-file", "--batch"], gitDir, stdin, signal });
  let at = 0;
  return oids.map((oid) => {
    const end = answer.indexOf(LINE_FEED, at);
    const header = answer.subarray(at, Math.max(at, end)).toString("latin1");
    const match = /^([0-9a-f]+) blob (\d+)$/.exec(header);
    if (!match || match[1] !== oid) throw new GitError(`git cat-file has no blob ${oid}.`);
    const from = end + 1;
    // A line feed comes after the object.
    at = from + Number(match[2]) + 1;
    if (at > answer.length) throw new GitError("git cat-file ended before all objects were read.");
    return answer.subarray(from, at - 1);
  });
}
