import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger } from "../../../../shared/machine/ports.ts";
import { branchInTheWay, jobBranch, refsInTheWay } from "../../../config/branches.ts";
import type { Env } from "../../../config/env.ts";
import type { RunnerFolders } from "../folders.ts";
import type { Redact } from "../../../base/redaction.ts";
import { operatorText } from "../../../base/run-error.ts";
import { fetchOn } from "./fetch-on.ts";
import { GitRunner } from "./git.ts";
import { BranchInTheWayError, GitError, RefConflictError, UnclearRemoteError } from "./git-fault.ts";
import {
  areHere,
  arePartingCommits,
  deeperThan,
  isComplete,
  noteDepth,
  ONE_COMMIT,
  partingCommits,
  readCuts,
  readDepth,
  SOME_HISTORY,
} from "./history.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import { prepare, removeHalfPacks, removeLocks } from "./mirror-files.ts";
import { Remote, type RemoteProject } from "./remote.ts";

const BASE_REF = "refs/mirror/base";
const JOBS_PREFIX = "refs/mirror/jobs/";
const COMMIT = /^[0-9a-f]{40,64}$/;
const FETCH_OPTIONS = ["--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
const MAX_LOOSE = 500;
const MAX_PACKS = 20;
const PACK_TIME_LIMIT_MS = 30 * 60_000;
/** The server can't give a part of a history, or not take one. */
const NO_SHALLOW = /shallow (?:capabilities|clients|requests)/;
const NEEDS_ALL = /shallow update not allowed/;

/** The parts of a project that identify its mirror and lead to its remote. */
export type MirroredProject = RemoteProject & {
  id: string;
  /** What the branches of its jobs begin with. */
  branchPrefix: string;
};

export type MirrorOptions = {
  project: MirroredProject;
  folders: Pick<RunnerFolders, "mirrors" | "gitHome">;
  lock: KeyedLock;
  env: Env;
  redact: Redact;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
};

/** Called with how far a fetch is, in words for people, if it takes long. */
type TellFar = (far: string) => void;

/** What a turn needs of a repository: its base branch, and the branch of its job. */
type TurnBranches = { baseBranch: string; jobId: string; tell?: TellFar };

/** `forkRefs` are fetched from the fork. `depth` is how many commits deep at least. */
type Fetch = {
  options: readonly string[];
  refs: readonly string[];
  forkRefs: readonly string[];
  depth: number;
  tell: TellFar;
};

/**
 * Our copy of a project's repository. Except for `use` and `fetch`, the methods are for whoever has
 * it in use. All reject as `GitRunner.run` does.
 */
export class Mirror {
  readonly path: string;
  readonly git: GitRunner;
  readonly #options: MirrorOptions;
  readonly #remote: Remote;
  #last: Fetch | null = null;

  constructor(options: MirrorOptions) {
    const { project, folders, env, redact, signal } = options;
    // If the project gets another repository, that has another mirror.
    const key = createHash("sha256").update(`${project.id}\n${project.repository}`).digest("hex");
    this.path = join(folders.mirrors, `${key.slice(0, 32)}.git`);
    this.git = new GitRunner({ gitDir: this.path, env, home: folders.gitHome, redact, signal });
    this.#remote = new Remote(project, this.git, signal);
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
   * Like {@link use}, with the branches up to date. Creates the mirror if it is missing, and once
   * more if it is broken or has a lock that nobody holds. A new one has only the history that is
   * needed, see {@link mergeBase}.
   */
  fetch<Result>(
    { baseBranch, jobId, tell = () => {} }: TurnBranches,
    act: (git: GitRunner) => Promise<Result>,
  ): Promise<Result> {
    // With a pattern, it is no fault if there is no such branch.
    const job = `+refs/heads/${this.#branchOf(jobId)}*:${JOBS_PREFIX}${jobId}*`;
    const base = `+refs/heads/${baseBranch}:${BASE_REF}`;
    const { fork } = this.#options.project;
    const refs = fork ? { refs: [base], forkRefs: [job] } : { refs: [base, job], forkRefs: [] };
    return this.#fetch({ options: ["--prune"], ...refs, depth: SOME_HISTORY, tell }, act);
  }

  /**
   * Fetches a tag or a branch without its history, whatever the mirror had before. Resolves to its
   * commit.
   */
  fetchCommit(ref: string, tell: TellFar = () => {}): Promise<string> {
    // To prune, git looks for the whole name at the remote, and `ref` is only the end of one.
    const refs = [`+${ref}:${BASE_REF}`];
    return this.#fetch({ options: ["--no-prune"], refs, forkRefs: [], depth: ONE_COMMIT, tell }, (git) =>
      git.text(["rev-parse", "--verify", `${BASE_REF}^{commit}`]),
    );
  }

  async #fetch<Result>(fetch: Fetch, act: (git: GitRunner) => Promise<Result>): Promise<Result> {
    const { lock, logger, signal } = this.#options;
    return lock.run(this.path, signal, async () => {
      this.#last = fetch;
      try {
        await this.#update(fetch);
      } catch (error) {
        if (!(await isBroken(error, this.git))) throw error;
        logger.warn({ problem: operatorText(error) }, "mirror is broken, making it anew");
        await rm(this.path, { recursive: true, force: true });
        await this.#update(fetch);
      }
      return act(this.git);
    });
  }

  async #update(fetch: Fetch): Promise<void> {
    await prepare(this.git);
    await removeLocks(this.path);
    await removeHalfPacks(this.path);
    const isNew = (await this.#refs(BASE_REF)).size === 0;
    await this.#receive(fetch, isNew ? fetch.depth : await this.#depth(fetch.depth));
  }

  /** How deep to fetch. Null if the whole history is here. */
  async #depth(first: number): Promise<number | null> {
    return isComplete(this.path) ? null : readDepth(this.path, first);
  }

  async #receive(fetch: Fetch, depth: number | null): Promise<void> {
    const { options, refs, forkRefs, tell } = fetch;
    const deep = depth === null ? [] : [`--depth=${depth}`];
    const args = ["fetch", ...FETCH_OPTIONS, ...deep, ...options, "--"];
    const { clock, logger, signal } = this.#options;
    const told = { gitDir: this.path, clock, logger, signal, tell };
    try {
      await fetchOn((watch) => this.#remote.talk(args, refs, { watch }), told);
      // Of a part of a history that has no such branch, git says 1.
      const call = { at: this.#remote.home, okCodes: [0, 1] };
      if (forkRefs.length > 0)
        await fetchOn((watch) => this.#remote.talk(args, forkRefs, { watch, ...call }), told);
    } catch (error) {
      if (depth === null || !NO_SHALLOW.test(operatorText(error))) throw error;
      // Of a server that can't give a part of a history, all is fetched.
      return this.#receive(fetch, null);
    }
    if (depth !== null) await noteDepth(this.path, depth);
  }

  /** Fetches more of the history. False if there is no more. */
  async #deepen(): Promise<boolean> {
    const depth = await this.#depth(SOME_HISTORY);
    const next = depth === null ? undefined : deeperThan(depth);
    if (next === undefined || this.#last === null) return false;
    await this.#receive(this.#last, next);
    return true;
  }

  /**
   * The commit at which two histories part, the best one if there are several. Null if they have
   * none in common. Fetches more history until that is certain, so what lies between that commit
   * and the two is here.
   */
  async mergeBase(one: string, other: string): Promise<string | null> {
    for (;;) {
      const found = await partingCommits(this.git, one, other);
      const cuts = await readCuts(this.path);
      const isMissing = cuts.size > 0 && found.length === 0 && !(await areHere(this.git, [one, other]));
      if (isMissing && (await this.has(one)) && (await this.has(other))) continue;
      const isKnown = !isMissing && (await arePartingCommits(this.git, [one, other], found, cuts));
      if (isKnown || !(await this.#deepen())) return found[0] ?? null;
    }
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

  /** The remote's branches of jobs, in git's order, which is that of the job ids. */
  async jobBranches(): Promise<{ jobId: string; commit: string }[]> {
    const heads = `refs/heads/${this.#options.project.branchPrefix}`;
    const branches = await this.#remote.branches([heads]);
    return [...branches].map(([ref, commit]) => ({ jobId: ref.slice(heads.length), commit }));
  }

  /**
   * Moves the job's branch, and no other, to `commit`, or removes it if that is null. `expected` is
   * the branch's commit when it was read, or null if there was no branch. Rejects with a
   * `RefConflictError` if somebody has moved it since, and with a `BranchInTheWayError` if another
   * branch's name leaves no room for it.
   */
  async push(jobId: string, commit: string | null, expected: string | null): Promise<void> {
    const ref = `refs/heads/${this.#branchOf(jobId)}`;
    const options = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
    const lease = `--force-with-lease=${ref}:${expected ?? ""}`;
    const push = () =>
      this.#remote.talk(["push", ...options, lease, "--"], [`${commit ?? ""}:${ref}`], {
        at: this.#remote.home,
      });
    try {
      await push().catch(async (error: unknown) => {
        // None of the server's branches has what this one began from, so it needs all of that.
        if (!NEEDS_ALL.test(operatorText(error))) throw error;
        while (await this.#deepen());
        await push();
      });
    } catch (error) {
      // Most servers report both alike, so their branches tell.
      if (!(error instanceof RefConflictError || error instanceof BranchInTheWayError)) throw error;
      const inTheWay = await this.branchInTheWay(jobId);
      throw inTheWay === null ? error : new BranchInTheWayError(inTheWay, error.details);
    }
    const known = `${JOBS_PREFIX}${jobId}`;
    const note = commit === null ? ["update-ref", "-d", known] : ["update-ref", known, commit];
    // If it can't be noted, the next fetch finds it.
    await this.git.run(note, { okCodes: [0, 1, 128] });
  }

  #branchOf(jobId: string): string {
    return jobBranch(this.#options.project.branchPrefix, jobId);
  }

  /** The remote's branch that leaves no room for the job's, or null. */
  async branchInTheWay(jobId: string): Promise<string | null> {
    const branch = this.#branchOf(jobId);
    const listed = await this.#remote.talk(["ls-remote", "--"], refsInTheWay(branch), {
      at: this.#remote.home,
    });
    return branchInTheWay(listed, branch);
  }

  /**
   * True if the commit is here. If it isn't, the remote is asked for it, whichever branch it is on.
   * False for what isn't the full name of a commit.
   */
  async has(commit: string): Promise<boolean> {
    if (!COMMIT.test(commit)) return false;
    const isHere = () => areHere(this.git, [commit]);
    if (await isHere()) return true;
    const depth = await this.#depth(SOME_HISTORY);
    const options = depth === null ? [] : [`--depth=${depth}`];
    const args = ["fetch", ...FETCH_OPTIONS, ...options, "--"];
    for (const at of new Set([this.#options.project.repository, this.#remote.home])) {
      await this.#remote.talk(args, [commit], { okCodes: [0, 1, 128], at });
      if (await isHere()) return true;
    }
    return false;
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
   * this, for half an hour at most. `branchPrefixes` are what the branches of its jobs begin with.
   */
  async pack(branchPrefixes: readonly string[]): Promise<void> {
    await this.#forgetBranches(branchPrefixes);
    await this.git.run(["gc", "--quiet"], { timeLimitMs: PACK_TIME_LIMIT_MS });
  }

  /** Forgets the branches of jobs that are gone at the remote. */
  async #forgetBranches(branchPrefixes: readonly string[]): Promise<void> {
    const known = [...(await this.#refs(JOBS_PREFIX)).keys()];
    if (known.length === 0) return;
    const heads = branchPrefixes.map((prefix) => `refs/heads/${prefix}`);
    const there = await this.#remote.branches(heads);
    const gone = known.filter(
      (ref) => !heads.some((each) => there.has(each + ref.slice(JOBS_PREFIX.length))),
    );
    await this.git.run(["update-ref", "--stdin"], { stdin: gone.map((ref) => `delete ${ref}\n`).join("") });
  }

  async #refs(...patterns: string[]): Promise<Map<string, string>> {
    const format = "--format=%(refname) %(objectname)";
    const listing = await this.git.text(["for-each-ref", format, "--", ...patterns]);
    // Names have no spaces and no line feeds. They may have other characters that end a line for a
    // regular expression.
    const lines = listing.split("\n").filter((line) => line !== "");
    return new Map(lines.map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]));
  }
}

/**
 * True if the mirror itself is the reason why it couldn't be updated. Fetching into a healthy one
 * may just have taken long.
 */
async function isBroken(error: unknown, git: GitRunner): Promise<boolean> {
  if (error instanceof GitError) return true;
  if (!(error instanceof UnclearRemoteError)) return false;
  if (NO_SHALLOW.test(operatorText(error))) return true;
  try {
    await git.run(["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
    return false;
  } catch (found) {
    if (found instanceof GitError) return true;
    throw found;
  }
}
