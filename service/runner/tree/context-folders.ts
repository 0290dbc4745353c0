import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { realpathSync, rmSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "../../../src/core/ports/clock.ts";
import { isInside } from "../confined-files.ts";
import { removeFolder } from "../folders.ts";
import type { GitRunner } from "../git/git.ts";
import { readSnapshot } from "../git/objects.ts";
import { TurnFailedError } from "../run-error.ts";
import { fillTree } from "./fill-tree.ts";
import { isSafePath } from "./names.ts";
import { createIsDoc } from "./select-changes.ts";

type Folder = {
  /** What it has in common with the same files of another commit. */
  family: string;
  users: number;
  unusedSinceMs: number;
};

/** A folder that stays, with the files as they are, until it is released. */
export type HeldFolder = { folder: string; release: () => void };

const MAX_BYTES = 1024 ** 3;
const NOTHING = { files: new Map(), folders: new Map() };
const run = promisify(execFile);

/**
 * The files of context repositories, written once for each commit and shared by all turns that read
 * it. Known in memory only: a new process begins without.
 */
export class ContextFolders {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #folders = new Map<string, Folder>();
  #made = 0;

  /** `dir` is this process's own. */
  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Removes what an earlier process left. To be called before anything else. */
  async open(): Promise<void> {
    await removeFolder(this.#dir);
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
  }

  /**
   * Holds the files of a commit that match `globs`; none: all files. To be called by whoever has
   * the mirror for themselves. Rejects with a `TurnFailedError` if they are too large.
   */
  async hold(git: GitRunner, commit: string, globs: readonly string[]): Promise<HeldFolder> {
    const family = JSON.stringify([basename(git.gitDir), globs]);
    const key = createHash("sha256").update(`${family}\n${commit}`).digest("hex").slice(0, 32);
    const path = join(this.#dir, key);
    if (!this.#folders.has(key)) {
      await this.#make(git, commit, globs, path);
      const older = [...this.#folders].filter(([, each]) => each.family === family);
      for (const [name, each] of older) if (each.users === 0) await this.#remove(name);
      this.#folders.set(key, { family, users: 0, unusedSinceMs: 0 });
    }
    const held = this.#folders.get(key);
    if (held !== undefined) held.users += 1;
    const release = () => {
      if (held === undefined) return;
      held.users -= 1;
      held.unusedSinceMs = this.#clock.now();
    };
    return { folder: join(path, "files"), release };
  }

  /** Removes the folders that nobody has held since then. Resolves to how many these were. */
  async forget(sinceMs: number): Promise<number> {
    const old = [...this.#folders].filter(
      ([, { users, unusedSinceMs }]) => users === 0 && unusedSinceMs < sinceMs,
    );
    for (const [name] of old) await this.#remove(name);
    return old.length;
  }

  async #remove(name: string): Promise<void> {
    this.#folders.delete(name);
    const aside = join(this.#dir, `old-${(this.#made += 1)}`);
    // At once: the same commit may come again.
    await rename(join(this.#dir, name), aside);
    await removeFolder(aside);
  }

  /** Writes the files somewhere else and moves them in one step: a folder in its place is whole. */
  async #make(git: GitRunner, commit: string, globs: readonly string[], path: string): Promise<void> {
    const isIn = globs.length === 0 ? () => true : createIsDoc(globs);
    const isWanted = (name: string) => isSafePath(name) && isIn(name);
    const making = join(this.#dir, `new-${(this.#made += 1)}`);
    const [tree, scratch] = [join(making, "files"), join(making, "scratch")];
    try {
      await assertSize(git, commit, isWanted);
      await mkdir(tree, { recursive: true, mode: 0o700 });
      await mkdir(scratch);
      const { written } = await fillTree(git, commit, { tree, scratch }, NOTHING, isWanted);
      const links = [...written.files].filter(([, { mode }]) => mode === "120000");
      for (const [name] of links) if (!leadsInside(tree, name)) rmSync(join(tree, name));
      await removeFolder(scratch);
      // For agents that no sandbox holds: nobody changes by mistake what others read.
      await run("chmod", ["-R", "a-w", "--", tree]);
      await rename(making, path);
    } catch (error) {
      await removeFolder(making);
      throw error;
    }
  }
}

async function assertSize(
  git: GitRunner,
  commit: string,
  isWanted: (path: string) => boolean,
): Promise<void> {
  const files = [...(await readSnapshot(git, commit)).values()].filter(
    ({ mode, path }) => mode !== "160000" && isWanted(path),
  );
  if (files.length === 0) return;
  const stdin = files.map(({ oid }) => `${oid}\n`).join("");
  const sizes = await git.text(["cat-file", "--batch-check=%(objectsize)"], { stdin });
  const bytes = sizes.split("\n").reduce((sum, size) => sum + Number(size), 0);
  if (bytes <= MAX_BYTES) return;
  throw new TurnFailedError("The files have more than 1 GB. Narrow them down by paths.");
}

/** A link that leads through others may leave the folder although its own words don't. */
function leadsInside(root: string, name: string): boolean {
  try {
    // As the system follows it: the other one joins a link's words by name alone.
    const end = realpathSync.native(join(root, name));
    return end === root || isInside(root, end);
  } catch {
    return false;
  }
}
