import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../src/core/ports/process.ts";
import { branchInTheWay, JOB_BRANCH_PREFIX, jobBranch, refsInTheWay } from "../../config/branches.ts";
import type { Env } from "../../config/env.ts";
import type { TokenProvider } from "../../code-host/token-provider.ts";
import type { RunnerFolders } from "../folders.ts";
import type { Redact } from "../../base/redaction.ts";
import { operatorText } from "../../base/run-error.ts";
import { type GitCall, GitRunner, remoteOf } from "./git.ts";
import {
  BranchInTheWayError,
  CredentialsRefusedError,
  GitError,
  RefConflictError,
  UnclearRemoteError,
} from "./git-fault.ts";
import type { KeyedLock } from "./keyed-lock.ts";

const BASE_REF = "refs/mirror/base";
const JOBS_PREFIX = "refs/mirror/jobs/";
/**
 * The mirror's whole configuration. Written before each use, so that nothing that was added to the
 * file takes effect.
 */
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
/**
 * Files are checked out exactly as they are in the repository, whatever its own `.gitattributes`
 * say. What an agent doesn't touch must keep its bytes, and no filter may run.
 */
const ATTRIBUTES = "* !text !eol !crlf !ident !filter !working-tree-encoding\n";
/** Files that could run programs, borrow objects or rewrite history. */
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
/** Where git keeps its locks. A killed process or a power cut leaves them behind. */
const LOCKED = [".", "refs", "objects/info", "objects/pack"] as const;

const COMMIT = /^[0-9a-f]{40,64}$/;
const FETCH_OPTIONS = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
const MAX_LOOSE = 500;
const MAX_PACKS = 20;
const PACK_TIME_LIMIT_MS = 30 * 60_000;

/** The parts of a project that identify its mirror and lead to its remote. */
export type MirroredProject = { id: string; repository: string; gitCredentials: GitCredentials | null };

/** What git authenticates with. Ask for it right before each use. */
export type GitCredentials = Pick<TokenProvider, "token" | "drop">;

export type MirrorOptions = {
  project: MirroredProject;
  folders: Pick<RunnerFolders, "mirrors" | "gitHome">;
  lock: KeyedLock;
  env: Env;
  redact: Redact;
  logger: Logger;
  signal: AbortSignal;
};

/**
 * Our copy of a project's repository. Except for `use` and `fetch`, the methods are for whoever has
 * it in use. All reject as `GitRunner.run` does.
 */
export class Mirror {
  readonly path: string;
  readonly git: GitRunner;
  readonly #options: MirrorOptions;

  constructor(options: MirrorOptions) {
    const { project, folders, env, redact, signal } = options;
    // If the project gets another repository, that has another mirror.
    const key = createHash("sha256").update(`${project.id}\n${project.repository}`).digest("hex");
    this.path = join(folders.mirrors, `${key.slice(0, 32)}.git`);
    this.git = new GitRunner({ gitDir: this.path, env, home: folders.gitHome, redact, signal });
    this.#options = options;
  }

  /** Gives exclusive use of the mirror, after undoing any changes to its settings. */
  async use<Result>(act: (git: GitRunner) => Promise<Result>): Promise<Result> {
    const { lock, signal } = this.#options;
    return lock.run(this.path, signal, async () => {
      await prepare(this.git);
      return act(this.git);
    });
  }

  /**
   * Like {@link use}, with the mirror up to date. Creates it if it is missing, and once more if it
   * is broken or has a lock that nobody holds.
   */
  fetch<Result>(baseBranch: string, act: (git: GitRunner) => Promise<Result>): Promise<Result> {
    const jobs = `+refs/heads/${JOB_BRANCH_PREFIX}*:${JOBS_PREFIX}*`;
    return this.#fetch(["--prune"], [`+refs/heads/${baseBranch}:${BASE_REF}`, jobs], act);
  }

  /** Fetches a tag or a branch, whatever the mirror had before. Resolves to its commit. */
  fetchCommit(ref: string): Promise<string> {
    // To prune, git looks for the whole name at the remote, and `ref` is only the end of one.
    return this.#fetch(["--no-prune"], [`+${ref}:${BASE_REF}`], (git) =>
      git.text(["rev-parse", "--verify", `${BASE_REF}^{commit}`]),
    );
  }

  async #fetch<Result>(
    options: readonly string[],
    refs: readonly string[],
    act: (git: GitRunner) => Promise<Result>,
  ): Promise<Result> {
    const { lock, logger, signal } = this.#options;
    const args = ["fetch", ...FETCH_OPTIONS, ...options, "--"];
    return lock.run(this.path, signal, async () => {
      try {
        await prepare(this.git);
        await removeLocks(this.path);
        await this.#talk(args, refs);
      } catch (error) {
        if (!(await isBroken(error, this.git))) throw error;
        logger.warn({ problem: operatorText(error) }, "mirror is broken, making it anew");
        await rm(this.path, { recursive: true, force: true });
        await prepare(this.git);
        await this.#talk(args, refs);
      }
      return act(this.git);
    });
  }

  /**
   * The newest commits of the base branch and the job's branch at the last fetch. `job` is null if
   * there is no such branch.
   */
  async tips(jobId: string): Promise<{ base: string; job: string | null }> {
    const refs = await this.#refs(BASE_REF, `${JOBS_PREFIX}${jobId}`);
    const base = refs.get(BASE_REF);
    if (base === undefined) throw new GitError("The mirror has no base branch.");
    return { base, job: refs.get(`${JOBS_PREFIX}${jobId}`) ?? null };
  }

  /** The branches of jobs as of the last fetch, in git's order, which is that of the job ids. */
  async jobBranches(): Promise<{ jobId: string; commit: string }[]> {
    const refs = await this.#refs(JOBS_PREFIX);
    return [...refs].map(([ref, commit]) => ({ jobId: ref.slice(JOBS_PREFIX.length), commit }));
  }

  /**
   * Moves the job's branch, and no other, to `commit`, or removes it if that is null. `expected` is
   * the branch's commit when it was read, or null if there was no branch. Rejects with a
   * `RefConflictError` if somebody has moved it since, and with a `BranchInTheWayError` if another
   * branch's name leaves no room for it.
   */
  async push(jobId: string, commit: string | null, expected: string | null): Promise<void> {
    const ref = `refs/heads/${jobBranch(jobId)}`;
    const options = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
    const lease = `--force-with-lease=${ref}:${expected ?? ""}`;
    try {
      await this.#talk(["push", ...options, lease, "--"], [`${commit ?? ""}:${ref}`]);
    } catch (error) {
      // Most servers report both alike, so their branches tell.
      if (!(error instanceof RefConflictError || error instanceof BranchInTheWayError)) throw error;
      const inTheWay = await this.#branchInTheWay(jobBranch(jobId));
      throw inTheWay === null ? error : new BranchInTheWayError(inTheWay, error.details);
    }
  }

  async #branchInTheWay(branch: string): Promise<string | null> {
    const listed = await this.#talk(["ls-remote", "--"], refsInTheWay(branch));
    return branchInTheWay(listed, branch);
  }

  /**
   * True if the commit is here. If it isn't, the remote is asked for it, whichever branch it is on.
   * False for what isn't the full name of a commit.
   */
  async has(commit: string): Promise<boolean> {
    if (!COMMIT.test(commit)) return false;
    const isHere = async () =>
      (await this.git.text(["cat-file", "-t", commit], { okCodes: [0, 128] })) === "commit";
    if (await isHere()) return true;
    await this.#talk(["fetch", ...FETCH_OPTIONS, "--"], [commit], { okCodes: [0, 1, 128] });
    return isHere();
  }

  /** Notes that the job's branch is gone, if it was at `commit`. */
  async forgetJobBranch(jobId: string, commit: string): Promise<void> {
    await this.git.run(["update-ref", "-d", `${JOBS_PREFIX}${jobId}`, commit]);
  }

  /** True if the mirror got many objects since it was packed. */
  async needsPacking(): Promise<boolean> {
    await removeLocks(this.path);
    const counts = await this.git.text(["count-objects", "-v"]);
    const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(counts)?.[1] ?? 0);
    return count("count") > MAX_LOOSE || count("packs") > MAX_PACKS;
  }

  /**
   * Packs the mirror, and removes objects that no branch has had for two weeks. Turns wait for
   * this, for half an hour at most.
   */
  async pack(): Promise<void> {
    await this.git.run(["gc", "--quiet"], { timeLimitMs: PACK_TIME_LIMIT_MS });
  }

  async #refs(...patterns: string[]): Promise<Map<string, string>> {
    const format = "--format=%(refname) %(objectname)";
    const listing = await this.git.text(["for-each-ref", format, "--", ...patterns]);
    // Names have no spaces and no line feeds. They may have other characters that end a line for a
    // regular expression.
    const lines = listing.split("\n").filter((line) => line !== "");
    return new Map(lines.map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]));
  }

  /** Runs git with the remote's address between the arguments. Resolves to its output. */
  async #talk(
    args: readonly string[],
    refs: readonly string[],
    call: Pick<GitCall, "okCodes"> = {},
  ): Promise<string> {
    const { project, signal } = this.#options;
    const { repository, gitCredentials } = project;
    for (let isAgain = false; ; isAgain = true) {
      const token = (await gitCredentials?.token(signal)) ?? null;
      const remote = remoteOf(repository, token);
      try {
        return await this.git.text([...args, remote.url, ...refs], { remote, ...call });
      } catch (error) {
        const isRefused = error instanceof CredentialsRefusedError && token !== null;
        if (isAgain || !isRefused || gitCredentials?.drop(token) !== true) throw error;
      }
    }
  }
}

/** Creates a mirror if it is missing, and undoes any changes to its settings. */
export async function prepare(git: GitRunner): Promise<void> {
  const { gitDir } = git;
  if (!existsSync(join(gitDir, "HEAD"))) {
    await rm(gitDir, { recursive: true, force: true });
    await mkdir(gitDir, { recursive: true, mode: 0o700 });
    await git.run(["init", "--bare", "--quiet", "--template="]);
  }
  await Promise.all(NOT_KEPT.map((name) => rm(join(gitDir, name), { recursive: true, force: true })));
  // If there is a link in its place, we would write through it.
  await rm(join(gitDir, "config"), { recursive: true, force: true });
  await writeFile(join(gitDir, "config"), CONFIG, { mode: 0o600 });
  await mkdir(join(gitDir, "info"), { mode: 0o700 });
  await writeFile(join(gitDir, "info/attributes"), ATTRIBUTES, { mode: 0o600 });
}

/**
 * True if the mirror itself is the reason why it couldn't be updated. Fetching into a healthy one
 * may just have taken long.
 */
async function isBroken(error: unknown, git: GitRunner): Promise<boolean> {
  if (error instanceof GitError) return true;
  if (!(error instanceof UnclearRemoteError)) return false;
  try {
    await git.run(["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
    return false;
  } catch (found) {
    if (found instanceof GitError) return true;
    throw found;
  }
}

/**
 * Removes every lock in the mirror. Nobody holds one while we hold ours: the state file keeps other
 * services out of this folder. What the git of an ended service is still writing is either
 * complete, or will be found broken and fetched again.
 */
async function removeLocks(gitDir: string): Promise<void> {
  for (const folder of LOCKED) {
    const path = join(gitDir, folder);
    const names = await readdir(path, { recursive: folder !== "." }).catch(() => []);
    const locks = names.filter((name) => name.endsWith(".lock"));
    await Promise.all(locks.map((name) => rm(join(path, name), { recursive: true, force: true })));
  }
}
