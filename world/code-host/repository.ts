import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Git, type GitResult, outputOf } from "./git.ts";
import { isBranchName } from "./names.ts";

export type Commit = { sha: string; author: string; date: string; subject: string };
/** The author of a commit, and the person who made it. */
export type CommitPeople = Record<
  "author" | "committer",
  { name: string; email: string; date?: string | undefined }
>;
export type TreeEntry = { path: string; mode: string; kind: string; sha: string; size: number | null };
export type Branch = { name: string; sha: string };

const PLAIN_DIFF = ["--no-color", "--no-ext-diff", "--no-textconv", "-M"];
/** GitHub doesn't show the lines of a large file, either. */
const NO_LARGE_FILES = ["-c", "core.bigFileThreshold=1m"];
/** The number of git's answers that are kept, and their longest length. */
const MAX_KNOWN = 500;
const MAX_KNOWN_CHARS = 100_000;
const NO_PERSON = { name: "Code host", email: "code-host@playground.invalid" };

/**
 * One bare repository on the disk, as the API and the pages need it. Starting git takes long, so it
 * does that as rarely as it can. It reads refs from the files in which git keeps them, and asks git
 * only once about a commit, because commits never change.
 */
export class Repository {
  readonly owner: string;
  readonly name: string;
  readonly path: string;
  readonly #git: Git;
  readonly #known = new Map<string, Promise<GitResult>>();

  constructor(owner: string, name: string, path: string, git: Git) {
    this.owner = owner;
    this.name = name;
    this.path = path;
    this.#git = git;
  }

  get fullName(): string {
    return `${this.owner}/${this.name}`;
  }

  /** Resolves to the branch that `HEAD` names. */
  async defaultBranch(): Promise<string> {
    return (await this.#read("HEAD")).trim().replace("ref: refs/heads/", "");
  }

  /** Resolves to the commit at a branch's tip. Null if there is no such branch. */
  async branchSha(branch: string): Promise<string | null> {
    if (!isBranchName(branch)) return null;
    return this.#shaOf(`refs/heads/${branch}`);
  }

  /**
   * Resolves to the commit at the tip of a pull request's branch. In a fork, it is that of its last
   * push.
   */
  async headSha({ head, fork }: { head: string; fork: string | null }): Promise<string | null> {
    if (fork === null || !isBranchName(head)) return this.branchSha(head);
    return this.#shaOf(`refs/forks/${fork}/${head}`);
  }

  /** Takes in the branches of a fork. */
  async takeFork(fork: Repository): Promise<void> {
    const refs = `+refs/heads/*:refs/forks/${fork.fullName}/*`;
    await this.#run(["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", fork.path, refs]);
  }

  /**
   * Resolves to the commit at which a branch and another commit parted. Null if they have no common
   * history.
   */
  async mergeBase(one: string, other: string): Promise<string | null> {
    const { exitCode, stdout } = await this.#about(["merge-base", one, other]);
    return exitCode === 0 ? stdout.trim() : null;
  }

  /** Resolves to the commits that `head` has and `base` hasn't, oldest first, at most 250. */
  async commitsBetween(base: string, head: string): Promise<Commit[]> {
    const format = "--format=%H%x1f%an%x1f%aI%x1f%s";
    const out = await this.#outAbout(["log", format, "--max-count=250", `${base}..${head}`, "--"]);
    const commits = lines(out).map((line) => {
      const [sha = "", author = "", date = "", subject = ""] = line.split("\u001f");
      return { sha, author, date, subject };
    });
    return commits.toReversed();
  }

  /** Resolves to the paths of a branch's files. */
  async files(branch: string): Promise<string[]> {
    const out = await this.#run(["ls-tree", "-r", "-z", "--name-only", `refs/heads/${branch}`]);
    return out.split("\0").filter((path) => path !== "");
  }

  /** Resolves to the files of a commit whose paths match, as texts by path. */
  async texts(sha: string, path: RegExp): Promise<Map<string, string>> {
    const out = await this.#run(["ls-tree", "-r", "-z", "--name-only", sha]);
    const paths = out.split("\0").filter((name) => path.test(name));
    const texts = paths.map(async (name): Promise<[string, string]> => [
      name,
      await this.#run(["cat-file", "blob", `${sha}:${name}`]),
    ]);
    return new Map(await Promise.all(texts));
  }

  /** Resolves to a unified diff of two commits' trees. */
  async diff(from: string, to: string): Promise<string> {
    return this.#outAbout(["diff", ...PLAIN_DIFF, from, to, "--"]);
  }

  /**
   * Resolves to the fields of `git diff --raw --numstat -z` for two commits, and the unified diff.
   */
  async changes(from: string, to: string): Promise<{ fields: string[]; diff: string }> {
    const formats = ["--raw", "--numstat", "--patch", "--no-abbrev", "-z"];
    const out = await this.#outAbout([...NO_LARGE_FILES, "diff", ...formats, ...PLAIN_DIFF, from, to, "--"]);
    const end = out.indexOf("\0\0");
    return end < 0
      ? { fields: [], diff: "" }
      : { fields: out.slice(0, end).split("\0"), diff: out.slice(end + 2) };
  }

  /** Resolves to the tree of a merge, or the paths in conflict. */
  async mergeTree(base: string, head: string): Promise<{ tree: string } | { conflicts: string[] }> {
    const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, head];
    const { exitCode, stdout } = await this.#about(args);
    const [tree = "", ...paths] = stdout.split("\0").filter((field) => field !== "");
    if (exitCode === 0) return { tree };
    // Unrelated histories come here, too, without any paths.
    return { conflicts: [...new Set(paths)] };
  }

  /** Makes a commit. Without `people`, it has a fixed author. */
  async commitTree(
    tree: string,
    parents: readonly string[],
    message: string,
    people?: CommitPeople,
  ): Promise<string> {
    const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
    const env = people === undefined ? PERSON_ENV : environmentOf(people);
    return (await this.#git.run(this.#at(args), { input: message, env })).trim();
  }

  /** Resolves to the kind of an object, such as "commit". Null if there is none. */
  async kindOf(sha: string): Promise<string | null> {
    const { exitCode, stdout } = await this.#git.try(this.#at(["cat-file", "-t", sha]));
    return exitCode === 0 ? stdout.trim() : null;
  }

  async hasCommit(sha: string): Promise<boolean> {
    return (await this.kindOf(sha)) === "commit";
  }

  /** Resolves to the contents of a commit. Rejects with `CodeHostError` if there is none. */
  async commit(sha: string) {
    const fields = "%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B";
    const out = await this.#outAbout(["log", "-1", `--format=${fields}`, sha, "--"]);
    const [tree = "", parents = "", ...rest] = out.split("\u001f");
    const [name = "", email = "", date = "", otherName = "", otherEmail = "", otherDate = ""] = rest;
    return {
      tree,
      parents: parents.split(" ").filter((parent) => parent !== ""),
      author: { name, email, date },
      committer: { name: otherName, email: otherEmail, date: otherDate },
      message: rest.slice(6).join("\u001f").trimEnd(),
    };
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    const args = this.#at(["hash-object", "-w", "--stdin"]);
    return (await this.#git.run(args, { input: bytes })).trim();
  }

  /**
   * Resolves to a tree's entries. If `isDeep` is true, they include the files in folders. Null if
   * there is no such tree.
   */
  async tree(sha: string, isDeep: boolean): Promise<TreeEntry[] | null> {
    const args = ["ls-tree", "-z", "--long", ...(isDeep ? ["-r", "-t"] : []), sha];
    const { exitCode, stdout } = await this.#git.try(this.#at(args));
    if (exitCode !== 0) return null;
    const entries = stdout.split("\0").filter((line) => line !== "");
    return entries.map((line) => {
      const [facts = "", ...path] = line.split("\t");
      const [mode = "", kind = "", id = "", size = "-"] = facts.split(/ +/);
      return { path: path.join("\t"), mode, kind, sha: id, size: size === "-" ? null : Number(size) };
    });
  }

  /**
   * Makes a tree from another one, or from nothing, with changed files. A file without `sha` is
   * removed. Null if an object or a file to remove doesn't exist.
   */
  async writeTree(
    base: string | null,
    entries: readonly { path: string; mode: string; sha: string | null }[],
  ): Promise<string | null> {
    const folder = await mkdtemp(join(tmpdir(), "code-host-"));
    const env = { GIT_INDEX_FILE: join(folder, "index") };
    const run = async (args: string[], input = "") => this.#git.try(this.#at(args), { input, env });
    try {
      const kinds = await Promise.all(
        entries.map(async ({ sha }) => (sha === null ? "blob" : this.kindOf(sha))),
      );
      if (!kinds.every((kind) => kind === "blob")) return null;
      if (base !== null && (await run(["read-tree", base])).exitCode !== 0) return null;
      const before = new Set((await run(["ls-files", "-z"])).stdout.split("\0"));
      if (entries.some(({ path, sha }) => sha === null && !before.has(path))) return null;
      const changes = entries.map(({ path, mode, sha }) =>
        sha === null ? `0 ${"0".repeat(40)}\t${path}\0` : `${mode} ${sha}\t${path}\0`,
      );
      const changed = await run(["update-index", "-z", "--index-info"], changes.join(""));
      if (changed.exitCode !== 0) return null;
      const { exitCode, stdout } = await run(["write-tree"]);
      return exitCode === 0 ? stdout.trim() : null;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /**
   * Makes a commit with changed files on top of another. All become plain files, even if they were
   * executable before. Null if a file to delete doesn't exist.
   */
  async commitFiles(wanted: {
    parent: string;
    additions: readonly { path: string; contents: Uint8Array }[];
    deletions: readonly string[];
    message: string;
    author: { name: string; email: string };
    committer: { name: string; email: string };
  }): Promise<string | null> {
    const { parent, additions, deletions, message, author, committer } = wanted;
    const folder = await mkdtemp(join(tmpdir(), "code-host-"));
    const env = { ...PERSON_ENV, GIT_INDEX_FILE: join(folder, "index") };
    const run = async (args: string[], input: string | Uint8Array = "", more = {}) =>
      (await this.#git.run(this.#at(args), { input, env: { ...env, ...more } })).trim();
    try {
      await run(["read-tree", parent]);
      const before = new Set((await run(["ls-files", "-z"])).split("\0"));
      if (!deletions.every((path) => before.has(path))) return null;
      const lines = deletions.map((path) => `0 ${"0".repeat(40)}\t${path}\0`);
      for (const { path, contents } of additions) {
        lines.push(`100644 ${await run(["hash-object", "-w", "--stdin"], contents)}\t${path}\0`);
      }
      await run(["update-index", "-z", "--index-info"], lines.join(""));
      return await run(["commit-tree", await run(["write-tree"]), "-p", parent, "-F", "-"], message, {
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_COMMITTER_NAME: committer.name,
        GIT_COMMITTER_EMAIL: committer.email,
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /**
   * Makes each commit of the head again on top of the base, with its message. Resolves to the last
   * one. Null if one of them doesn't apply.
   */
  async rebase({ base, head, mergeBase }: { base: string; head: string; mergeBase: string }) {
    let onto = base;
    let from = await this.commitTree(`${mergeBase}^{tree}`, [], "");
    for (const { sha } of await this.commitsBetween(mergeBase, head)) {
      // Both are made children of one commit, so that a merge starts from that.
      const ours = await this.commitTree(`${onto}^{tree}`, [from], "onto");
      const theirs = await this.commitTree(`${sha}^{tree}`, [from], "commit");
      const merged = await this.mergeTree(ours, theirs);
      if (!("tree" in merged)) return null;
      const message = await this.#outAbout(["log", "-1", "--format=%B", sha]);
      onto = await this.commitTree(merged.tree, [onto], message);
      from = await this.commitTree(`${sha}^{tree}`, [], "");
    }
    return onto;
  }

  /**
   * Moves a ref if it still is at `from`. Null means that it doesn't exist yet. Resolves to false
   * if it was moved meanwhile.
   */
  async moveRef(ref: string, to: string, from: string | null): Promise<boolean> {
    const args = ["update-ref", ref, to, from ?? "0".repeat(40)];
    const { exitCode } = await this.#git.try(this.#at(args), { env: PERSON_ENV });
    return exitCode === 0;
  }

  /** Sets a ref of the code host's own, which nobody else moves, to a commit. */
  async setRef(ref: `refs/pull/${number}/head`, sha: string): Promise<void> {
    const path = join(this.path, ref);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.lock`, `${sha}\n`);
    await rename(`${path}.lock`, path);
  }

  /** Resolves to the commit of a ref of the code host's own, or null. */
  async refSha(ref: `refs/pull/${number}/head`): Promise<string | null> {
    return this.#shaOf(ref);
  }

  async #shaOf(ref: string): Promise<string | null> {
    const loose = (await this.#read(ref)).trim();
    if (loose !== "") return loose;
    const packed = lines(await this.#read("packed-refs")).find((line) => line.endsWith(` ${ref}`));
    return packed?.split(" ")[0] ?? null;
  }

  /** Resolves to a file of the repository. Empty if there is none. */
  async #read(path: string): Promise<string> {
    return readFile(join(this.path, path), "utf8").catch(() => "");
  }

  /** Resolves to git's answer about commits, whatever the exit code. */
  async #about(args: string[]): Promise<GitResult> {
    const key = args.join("\0");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const asked = this.#git.try(this.#at(args), { env: PERSON_ENV });
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, asked);
    // With a higher exit code, git lacks one of the commits, which may still come.
    const forget = () => this.#known.delete(key);
    asked.then(
      ({ exitCode, stdout }) => (exitCode > 1 || stdout.length > MAX_KNOWN_CHARS) && forget(),
      forget,
    );
    return asked;
  }

  async #outAbout(args: string[]): Promise<string> {
    return outputOf(args, await this.#about(args));
  }

  async #run(args: string[], input = ""): Promise<string> {
    return this.#git.run(this.#at(args), { input, env: PERSON_ENV });
  }

  #at(args: string[]): string[] {
    return [`--git-dir=${this.path}`, ...args];
  }
}

const PERSON_ENV = {
  GIT_AUTHOR_NAME: NO_PERSON.name,
  GIT_AUTHOR_EMAIL: NO_PERSON.email,
  GIT_COMMITTER_NAME: NO_PERSON.name,
  GIT_COMMITTER_EMAIL: NO_PERSON.email,
};

function environmentOf({ author, committer }: CommitPeople): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
    ...(author.date === undefined ? {} : { GIT_AUTHOR_DATE: author.date }),
    ...(committer.date === undefined ? {} : { GIT_COMMITTER_DATE: committer.date }),
  };
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
