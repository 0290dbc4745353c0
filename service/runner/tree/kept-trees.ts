import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../src/core/ports/process.ts";
import { identityAt, keepUntouched, type WrittenFile, type WrittenTree } from "./written-files.ts";

type Kept = { key: string; path: string; sinceMs: number };

/** A kept tree as it is noted beside it. */
type Note = { files: [path: string, file: WrittenFile][]; folders: [path: string, identity: string][] };

/** More turns of a repository at once than this begin with nothing. */
const MAX_PER_KEY = 4;

/**
 * Trees that ended turns left for later ones, without anything that their agents did, so that a
 * turn costs what changed and not what is there. Known in memory only: a new process begins
 * without.
 */
export class KeptTrees {
  readonly #dir: string;
  readonly #clock: Clock;
  #kept: Kept[] = [];
  #made = 0;

  /** `dir` is this process's own. */
  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Removes what an earlier process left. To be called before anything else. */
  async open(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
  }

  /**
   * Moves the tree that was kept last to the empty folder `root`. Resolves to what is there then;
   * nothing if none was kept.
   */
  async take(key: string, root: string): Promise<WrittenTree> {
    const nothing: WrittenTree = { files: new Map(), folders: new Map() };
    const kept = this.#kept.findLast((each) => each.key === key);
    if (kept === undefined) return nothing;
    this.#kept = this.#kept.filter((each) => each !== kept);
    try {
      const { files, folders }: Note = JSON.parse(readFileSync(join(kept.path, "note.json"), "utf8"));
      const tree = join(kept.path, "tree");
      const isAsLeft = (path: string, identity: string) => identityAt(join(tree, path)) === identity;
      // Without a sandbox, something of the agent's may have outlived its turn.
      if (!folders.every(([path, identity]) => isAsLeft(path, identity))) return nothing;
      if (!files.every(([path, { identity }]) => isAsLeft(path, identity))) return nothing;
      renameSync(tree, root);
      return { files: new Map(files), folders: new Map(folders) };
    } finally {
      await rm(kept.path, { recursive: true, force: true });
    }
  }

  /**
   * Keeps what of the tree at `root` is still as it was written, unless there is enough. `aside`:
   * an empty folder on the same disk for the rest.
   */
  keep(key: string, root: string, written: WrittenTree, aside: string): void {
    if (this.#kept.filter((kept) => kept.key === key).length >= MAX_PER_KEY) return;
    const path = join(this.#dir, String((this.#made += 1)));
    try {
      const { files, folders } = keepUntouched(root, written, aside);
      mkdirSync(path, { mode: 0o700 });
      renameSync(root, join(path, "tree"));
      // The topmost folder was just moved.
      folders.set(".", identityAt(join(path, "tree")) ?? "");
      const note: Note = { files: [...files], folders: [...folders] };
      writeFileSync(join(path, "note.json"), JSON.stringify(note), { mode: 0o600 });
      this.#kept.push({ key, path, sinceMs: this.#clock.now() });
    } catch (error) {
      rmSync(path, { recursive: true, force: true });
      throw error;
    }
  }

  /** Removes the trees that nobody took since then. Resolves to how many these were. */
  async forget(sinceMs: number): Promise<number> {
    const old = this.#kept.filter((kept) => kept.sinceMs < sinceMs);
    this.#kept = this.#kept.filter((kept) => !old.includes(kept));
    for (const { path } of old) await rm(path, { recursive: true, force: true });
    return old.length;
  }
}
