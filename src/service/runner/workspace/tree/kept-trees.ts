import { mkdirSync, renameSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../shared/machine/ports.ts";
import { createGiveWay } from "../../../base/give-way.ts";
import {
  foldersOf,
  identityAt,
  moveUntouched,
  type WrittenFile,
  type WrittenFiles,
} from "./written-files.ts";

type Kept = { key: string; path: string; sinceMs: number };

/** A line of the note beside a kept tree: a file, or a folder with its identity. */
type Noted = [path: string, what: WrittenFile | string];

const NOTE = "note.jsonl";

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
  /** Those that are being moved here. */
  readonly #coming = new Set<{ key: string; over: Promise<void> }>();
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
    const newest = () => this.#kept.findLast((each) => each.key === key);
    if (newest() === undefined) await [...this.#coming].find((each) => each.key === key)?.over;
    const kept = newest();
    if (kept === undefined) return nothing;
    this.#kept = this.#kept.filter((each) => each !== kept);
    try {
      const note = await readFile(join(kept.path, NOTE), "utf8");
      const tree = join(kept.path, "tree");
      const giveWay = createGiveWay();
      const files: WrittenFiles = new Map();
      for (const line of note.split("\n")) {
        await giveWay();
        const [path, what]: Noted = JSON.parse(line);
        const identity = typeof what === "string" ? what : what.identity;
        // Without a sandbox, a process of the agent's may have outlived its turn.
        if (identityAt(join(tree, path)) !== identity) return nothing;
        if (typeof what !== "string") files.set(path, what);
      }
      renameSync(tree, root);
      return files;
    } finally {
      await rm(kept.path, { recursive: true, force: true });
    }
  }

  /**
   * Takes the files at `root` that are still as they were written, unless enough trees are kept.
   */
  async keep(key: string, root: string, written: WrittenFiles): Promise<void> {
    const there = [...this.#kept, ...this.#coming].filter((each) => each.key === key);
    if (there.length >= MAX_PER_KEY) return;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const coming = { key, over };
    this.#coming.add(coming);
    try {
      await this.#moveHere(key, root, written);
    } finally {
      this.#coming.delete(coming);
      resolve();
    }
  }

  async #moveHere(key: string, root: string, written: WrittenFiles): Promise<void> {
    const path = join(this.#dir, String((this.#made += 1)));
    try {
      mkdirSync(path, { mode: 0o700 });
      const tree = join(path, "tree");
      const files = await moveUntouched(root, tree, written);
      const giveWay = createGiveWay();
      const lines: string[] = [];
      const note = (...noted: Noted) => lines.push(JSON.stringify(noted));
      for (const folder of foldersOf(files.keys())) {
        await giveWay();
        note(folder, identityAt(join(tree, folder)) ?? "");
      }
      for (const [file, state] of files) {
        await giveWay();
        note(file, state);
      }
      await writeFile(join(path, NOTE), lines.join("\n"), { mode: 0o600 });
      this.#kept.push({ key, path, sinceMs: this.#clock.now() });
    } catch (error) {
      await rm(path, { recursive: true, force: true });
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
