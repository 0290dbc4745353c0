import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../shared/errors.ts";
import { type JobNotes, NoteKind } from "../runner/runner.ts";

/** A pushed turn may be repeated hours later, or days later if the service was stopped. */
const KEEP_MS = 7 * 24 * 60 * 60_000;
/** The most that one pass removes. */
const MAX_REMOVED = 500;

/**
 * What runners note of jobs, a file for each kind. It is kept by the service and not by the runner,
 * because another runner may take the job's next attempt.
 */
export class NoteFiles {
  readonly #folder: string;
  readonly #writing = new Map<string, Promise<void>>();

  /** `dataDir` is the service's. */
  constructor(dataDir: string) {
    this.#folder = join(dataDir, "turns");
  }

  of(jobId: string): JobNotes {
    return {
      read: async (kind) => {
        try {
          return await readFile(this.#file(jobId, kind), "utf8");
        } catch (thrown) {
          if (codeOf(thrown) === "ENOENT") return null;
          throw thrown;
        }
      },
      write: (kind, text) => this.#inOrder(this.#file(jobId, kind), text),
    };
  }

  /** Removes what is noted of a job. No turn of it may run meanwhile. Safe to repeat. */
  async remove(jobId: string): Promise<void> {
    for (const kind of NoteKind.options) {
      const file = this.#file(jobId, kind);
      for (const each of [file, `${file}.new`]) await rm(each, { force: true });
    }
  }

  /**
   * Removes notes that nobody has written to for a week, a limited number of them. Those of jobs
   * with an unfinished turn stay. Resolves to how many it removed.
   */
  async removeOld(unfinished: ReadonlySet<string>, nowMs: number): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (removed >= MAX_REMOVED) break;
      if (unfinished.has(name.slice(0, name.indexOf(".")))) continue;
      const path = join(this.#folder, name);
      const stats = await stat(path).catch(() => null);
      if (stats === null || stats.mtimeMs >= nowMs - KEEP_MS) continue;
      await rm(path, { force: true });
      removed += 1;
    }
    return removed;
  }

  /** One after the other, so that what was written last stays. */
  async #inOrder(file: string, text: string): Promise<void> {
    const before = this.#writing.get(file) ?? Promise.resolve();
    const now = before.then(() => this.#write(file, text));
    const settled = now.catch(() => {});
    this.#writing.set(file, settled);
    try {
      await now;
    } finally {
      if (this.#writing.get(file) === settled) this.#writing.delete(file);
    }
  }

  /** A crash leaves either the old note or the new one. */
  async #write(file: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  #file(jobId: string, kind: NoteKind): string {
    return join(this.#folder, kind === "turn" ? `${jobId}.json` : `${jobId}.${kind}.json`);
  }
}
