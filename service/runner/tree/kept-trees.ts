import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../src/core/ports/process.ts";
import {
  foldersOf,
  identityAt,
  moveUntouched,
  type WrittenFile,
  type WrittenFiles,
} from "./written-files.ts";

type Kept = { key: string; path: string; sinceMs: number };

/** The note beside a kept tree. */
type Note = { files: [path: string, file: WrittenFile][]; folders: [path: string, identity: string][] };

/** If more turns of a repository run at once, the others begin with an empty tree. */
const MAX_PER_KEY = 4;

/**
 * Trees that ended turns left for later ones, without anything that their agents did, so that a
 * turn only has to write what changed. They are known in memory only, so a new process begins
 * without them.
 */
export class KeptTrees {
  readonly #dir: string;
  readonly #clock: Clock;
  #kept: Kept[] = [];
  #made = 0;

  /** `dir` is for this instance alone. */
  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /**
   * Moves the newest kept tree to the empty folder `root`. Resolves to what is there then, which is
   * nothing if none was kept.
   */
  async take(key: string, root: string): Promise<WrittenFiles> {
    const nothing: WrittenFiles = new Map();
    const kept = this.#kept.findLast((each) => each.key === key);
    if (kept === undefined) return nothing;
    this.#kept = this.#kept.filter((each) => each !== kept);
    try {
      const { files, folders }: Note = JSON.parse(readFileSync(join(kept.path, "note.json"), "utf8"));
      const tree = join(kept.path, "tree");
      const isAsLeft = (path: string, identity: string) => identityAt(join(tree, path)) === identity;
      // Without a sandbox, a process of the agent's may have outlived its turn.
      if (!folders.every(([path, identity]) => isAsLeft(path, identity))) return nothing;
      if (!files.every(([path, { identity }]) => isAsLeft(path, identity))) return nothing;
      renameSync(tree, root);
      return new Map(files);
    } finally {
      await rm(kept.path, { recursive: true, force: true });
    }
  }

  /**
   * Takes the files at `root` that are still as they were written, unless enough trees are kept.
   */
  keep(key: string, root: string, written: WrittenFiles): void {
    if (this.#kept.filter((kept) => kept.key === key).length >= MAX_PER_KEY) return;
    const path = join(this.#dir, String((this.#made += 1)));
    try {
      mkdirSync(path, { mode: 0o700 });
      const tree = join(path, "tree");
      const files = moveUntouched(root, tree, written);
      const folders = foldersOf(files.keys());
      const note: Note = {
        files: [...files],
        folders: folders.map((folder) => [folder, identityAt(join(tree, folder)) ?? ""]),
      };
      writeFileSync(join(path, "note.json"), JSON.stringify(note), { mode: 0o600 });
      this.#kept.push({ key, path, sinceMs: this.#clock.now() });
    } catch (error) {
      rmSync(path, { recursive: true, force: true });
      throw error;
    }
  }

  /** Removes the trees that nobody took since this time. Resolves to their number. */
  async forget(sinceMs: number): Promise<number> {
    const old = this.#kept.filter((kept) => kept.sinceMs < sinceMs);
    this.#kept = this.#kept.filter((kept) => !old.includes(kept));
    for (const { path } of old) await rm(path, { recursive: true, force: true });
    return old.length;
  }
}
