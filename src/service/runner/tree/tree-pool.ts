import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../core/clock.ts";

type Kept = { key: string; path: string; sinceMs: number };

/** More turns of a repository at once than this begin with nothing. */
const MAX_PER_KEY = 4;

/**
 * Trees that ended turns left for later ones, without anything that their agents did, so that a turn costs what changed and not what
 * is there. Known in memory only: a new process begins without.
 */
export class TreePool {
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

  /** The tree that was kept last; null if there is none. It is the caller's now, to remove as well. */
  take(key: string): string | null {
    const found = this.#kept.findLast((kept) => kept.key === key);
    if (found === undefined) return null;
    this.#kept = this.#kept.filter((kept) => kept !== found);
    return found.path;
  }

  /** A path for a tree to keep; null if there are enough. Nothing is there yet. */
  newPath(key: string): string | null {
    if (this.#kept.filter((kept) => kept.key === key).length >= MAX_PER_KEY) return null;
    this.#made += 1;
    return join(this.#dir, String(this.#made));
  }

  /** Takes a tree in, that was made at a path from `newPath`. */
  add(key: string, path: string): void {
    this.#kept.push({ key, path, sinceMs: this.#clock.now() });
  }

  /** Removes the trees that nobody took since then. Resolves to how many these were. */
  async forget(sinceMs: number): Promise<number> {
    const old = this.#kept.filter((kept) => kept.sinceMs < sinceMs);
    this.#kept = this.#kept.filter((kept) => !old.includes(kept));
    for (const { path } of old) await rm(path, { recursive: true, force: true });
    return old.length;
  }
}
