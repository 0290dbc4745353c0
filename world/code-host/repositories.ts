import { cp, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CodeHostError } from "./errors.ts";
import type { Git } from "./git.ts";
import { isName } from "./names.ts";
import { Repository } from "./repository.ts";

const INITIAL_BRANCH = "main";

/** The repositories of a data folder. */
export class Repositories {
  readonly #root: string;
  readonly #git: Git;
  readonly #known = new Map<string, Repository>();

  constructor(dataDir: string, git: Git) {
    this.#root = join(dataDir, "repositories");
    this.#git = git;
  }

  /** Finds the repositories on the disk. Call it once, before anything else. */
  async open(): Promise<void> {
    await mkdir(this.#root, { recursive: true });
    const found = await readdir(this.#root);
    // A crash in `create` may have left these.
    for (const draft of found.filter((name) => name.startsWith(".new-"))) {
      await rm(join(this.#root, draft), { recursive: true, force: true });
    }
    for (const owner of found.filter(isName)) {
      for (const folder of await readdir(join(this.#root, owner))) {
        const name = folder.replace(/\.git$/, "");
        if (name !== folder && isName(name)) this.#add(owner, name);
      }
    }
  }

  all(): Repository[] {
    return [...this.#known.values()].toSorted((one, other) => one.fullName.localeCompare(other.fullName));
  }

  /** Finds a repository. As on GitHub, upper and lower case don't matter. */
  find(owner: string, name: string): Repository | undefined {
    return this.#known.get(`${owner}/${name}`.toLowerCase());
  }

  /**
   * Makes a repository whose only commit, on `main`, has the files of a folder, completely or not
   * at all. One that exists isn't changed. Resolves to true if it was made.
   */
  async create(owner: string, name: string, fromDirectory: string): Promise<boolean> {
    if (!isName(owner) || !isName(name)) {
      throw new CodeHostError(
        `"${owner}/${name}" cannot name a repository: use letters, digits, ".", "_", "-"`,
      );
    }
    if (this.find(owner, name)) return false;
    await mkdir(join(this.#root, owner), { recursive: true });
    const draft = await mkdtemp(join(this.#root, ".new-"));
    try {
      const at = [`--git-dir=${draft}`];
      await this.#git.run([
        "init",
        "--quiet",
        "--bare",
        "--template=",
        `--initial-branch=${INITIAL_BRANCH}`,
        draft,
      ]);
      const work = [...at, `--work-tree=${fromDirectory}`];
      await this.#git.run([...work, "add", "--all", "--force", "."], { cwd: fromDirectory });
      const tree = (await this.#git.run([...at, "write-tree"])).trim();
      const repository = new Repository(owner, name, draft, this.#git);
      const commit = await repository.commitTree(tree, [], "Start of the documentation\n");
      await repository.moveRef(`refs/heads/${INITIAL_BRANCH}`, commit, null);
      await rm(join(draft, "index"), { force: true });
      await rename(draft, this.#path(owner, name));
    } catch (thrown) {
      await rm(draft, { recursive: true, force: true });
      throw thrown;
    }
    this.#add(owner, name);
    return true;
  }

  /** Copies a repository to another owner, with all of its branches. */
  async fork(from: Repository, owner: string): Promise<void> {
    await cp(from.path, this.#path(owner, from.name), { recursive: true });
    this.#add(owner, from.name);
  }

  #add(owner: string, name: string): void {
    const repository = new Repository(owner, name, this.#path(owner, name), this.#git);
    this.#known.set(repository.fullName.toLowerCase(), repository);
  }

  #path(owner: string, name: string): string {
    return join(this.#root, owner, `${name}.git`);
  }
}
