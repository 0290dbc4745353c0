import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../core/logger.ts";
import { operatorText } from "../run-error.ts";
import type { SafeGit } from "./git.ts";
import { GitError, RefConflictError, UnclearRemoteError } from "./git-fault.ts";
import type { Remote } from "./remote.ts";
import { JOB_BRANCH_PREFIX } from "../../branch.ts";

const BASE_REF = "refs/mirror/base";
const JOBS_PREFIX = "refs/mirror/jobs/";
/** The whole configuration. Written before each use: nothing that appeared in the file since may take effect. */
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
/**
 * Files come out as they are in the repository, whatever its own `.gitattributes` ask for: what an agent leaves untouched must have the
 * same bytes, and no filter may run.
 */
const ATTRIBUTES = "* !text !eol !crlf !ident !filter !working-tree-encoding\n";
/** What could run programs, borrow objects or rewrite history. */
const NOT_KEPT = [
  "hooks",
  "info",
  "objects/info/alternates",
  "objects/info/http-alternates",
  "commondir",
  "config.worktree",
  "shallow",
  "refs/replace",
  "gc.pid",
] as const;
/** Where git keeps locks: a killed one, or a power cut, leaves them. */
const LOCKED = [
  [".", false],
  ["refs", true],
  ["objects/info", true],
  ["objects/pack", false],
] as const;

const MAX_LOOSE = 500;
const MAX_PACKS = 20;
const PACK_TIME_LIMIT_MS = 30 * 60_000;

export type MirrorDeps = { git: SafeGit; logger: Logger };

/** What the remote holds that a turn needs. */
export type Tips = { base: string; job: string | null };

/** Where the mirror of a project's repository is kept. Another repository under the same project is another mirror. */
export function mirrorPath(mirrorsDir: string, projectId: string, repository: string): string {
  const key = createHash("sha256").update(`${projectId}\n${repository}`).digest("hex").slice(0, 32);
  return join(mirrorsDir, `${key}.git`);
}

/**
 * Brings the mirror up to date, making it if it is missing and making it anew once if it is broken or locked by nobody.
 * The caller holds the mirror's lock. Rejects as `SafeGit.run` does.
 */
export async function fetchMirror(
  deps: MirrorDeps,
  gitDir: string,
  remote: Remote,
  baseBranch: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await prepare(deps.git, gitDir, signal);
    await removeLocks(gitDir);
    await fetch(deps.git, gitDir, remote, baseBranch, signal);
  } catch (error) {
    if (!(await isBroken(error, deps.git, gitDir, signal))) throw error;
    deps.logger.warn({ problem: operatorText(error) }, "mirror is broken, making it anew");
    await rm(gitDir, { recursive: true, force: true });
    await prepare(deps.git, gitDir, signal);
    await fetch(deps.git, gitDir, remote, baseBranch, signal);
  }
}

/** Whether the mirror is why it could not be brought up to date: a healthy one may have taken long to fetch. */
async function isBroken(error: unknown, git: SafeGit, gitDir: string, signal: AbortSignal): Promise<boolean> {
  // Nobody else changes our refs: a conflict is one with what should not be there.
  if (error instanceof GitError || error instanceof RefConflictError) return true;
  if (!(error instanceof UnclearRemoteError)) return false;
  try {
    await git.run({
      args: ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"],
      gitDir,
      signal,
    });
    return false;
  } catch (found) {
    if (found instanceof GitError) return true;
    throw found;
  }
}

/** The commits that the base branch and the job's branch had at the last fetch. */
export async function tipsOf(
  git: SafeGit,
  gitDir: string,
  jobId: string,
  signal: AbortSignal,
): Promise<Tips> {
  const wanted = [BASE_REF, `${JOBS_PREFIX}${jobId}`];
  const found = await git.text({
    args: ["for-each-ref", "--format=%(refname) %(objectname)", "--", ...wanted],
    gitDir,
    signal,
  });
  const tips = new Map(
    found.split("\n").map((line): [string, string] => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]),
  );
  const base = tips.get(BASE_REF);
  if (base === undefined) throw new GitError("The mirror has no base branch.");
  return { base, job: tips.get(`${JOBS_PREFIX}${jobId}`) ?? null };
}

/** The branches of jobs as they were at the last fetch, by job id. */
export async function jobBranches(
  git: SafeGit,
  gitDir: string,
  signal: AbortSignal,
): Promise<{ jobId: string; commit: string }[]> {
  const listing = await git.text({
    args: ["for-each-ref", "--format=%(objectname) %(refname)", JOBS_PREFIX],
    gitDir,
    signal,
  });
  const branches = listing.split("\n").filter((line) => line !== "");
  return branches
    .map((line) => {
      const [commit = "", ref = ""] = line.split(" ");
      return { jobId: ref.slice(JOBS_PREFIX.length), commit };
    })
    .toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1));
}

/** Notes that the job's branch is gone, if it was `commit`. */
export async function forgetJobBranch(
  git: SafeGit,
  gitDir: string,
  jobId: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  await git.run({ args: ["update-ref", "-d", `${JOBS_PREFIX}${jobId}`, commit], gitDir, signal });
}

/** Whether many objects came to the mirror since it was packed. The caller holds the mirror's lock. Rejects as `SafeGit.run` does. */
export async function needsPacking(git: SafeGit, gitDir: string, signal: AbortSignal): Promise<boolean> {
  await prepare(git, gitDir, signal);
  await removeLocks(gitDir);
  const counts = await git.text({ args: ["count-objects", "-v"], gitDir, signal });
  const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(counts)?.[1] ?? 0);
  return count("count") > MAX_LOOSE || count("packs") > MAX_PACKS;
}

/**
 * Packs the mirror, and drops what no branch has had for two weeks. The caller holds the mirror's lock, and turns wait for it. Rejects
 * as `SafeGit.run` does, after half an hour at the latest.
 */
export async function packMirror(git: SafeGit, gitDir: string, signal: AbortSignal): Promise<void> {
  await git.run({ args: ["gc", "--quiet"], gitDir, timeLimitMs: PACK_TIME_LIMIT_MS, signal });
}

/** Undoes whatever was done to the mirror's settings since the last use. */
export async function prepare(git: SafeGit, gitDir: string, signal: AbortSignal): Promise<void> {
  const exists = await stat(join(gitDir, "HEAD")).then(
    () => true,
    () => false,
  );
  if (!exists) {
    await rm(gitDir, { recursive: true, force: true });
    await mkdir(gitDir, { recursive: true, mode: 0o700 });
    await git.run({ args: ["init", "--bare", "--quiet", "--template="], gitDir, signal });
  }
  await Promise.all(NOT_KEPT.map((name) => rm(join(gitDir, name), { recursive: true, force: true })));
  // A link in its place would be written through.
  await rm(join(gitDir, "config"), { recursive: true, force: true });
  await writeFile(join(gitDir, "config"), CONFIG, { mode: 0o600 });
  await mkdir(join(gitDir, "info"), { mode: 0o700 });
  await writeFile(join(gitDir, "info/attributes"), ATTRIBUTES, { mode: 0o600 });
}

/**
 * Removes every lock in the mirror. Nobody holds one while we hold ours: the state file keeps a second service from the same folder,
 * and what a git of an ended one still writes is whole, or is found broken and made anew.
 */
async function removeLocks(gitDir: string): Promise<void> {
  for (const [folder, recursive] of LOCKED) {
    const path = join(gitDir, folder);
    const names = await readdir(path, { recursive }).catch(() => []);
    const locks = names.filter((name) => name.endsWith(".lock"));
    await Promise.all(locks.map((name) => rm(join(path, name), { recursive: true, force: true })));
  }
}

async function fetch(
  git: SafeGit,
  gitDir: string,
  remote: Remote,
  baseBranch: string,
  signal: AbortSignal,
): Promise<void> {
  await git.run({
    args: [
      "fetch",
      "--quiet",
      "--prune",
      "--no-tags",
      "--no-write-fetch-head",
      "--no-recurse-submodules",
      "--",
      remote.url,
      `+refs/heads/${baseBranch}:${BASE_REF}`,
      `+refs/heads/${JOB_BRANCH_PREFIX}*:${JOBS_PREFIX}*`,
    ],
    gitDir,
    remote,
    signal,
  });
}
