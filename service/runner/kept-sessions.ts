import { renameSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../src/core/ports/process.ts";
import { isJobId } from "../config/repository.ts";
import { removeFolder } from "./folders.ts";
import { diskUse } from "./sandbox/disk-watch.ts";

/** An agent's session, as it stands after a turn. */
export type AgentSession = {
  /** The agent's own name for it. */
  id: string;
  /** Its cost so far by the agent's own word, in US dollars; null if the agent gave none. */
  costUsd: number | null;
  /** How many turns of its job it knows: the first ones. */
  turns: number;
};

const Note = z.object({
  version: z.literal(1),
  sessionId: z.string(),
  costUsd: z.number().nullable(),
  turns: z.int().min(1),
  agent: z.string(),
  bytes: z.int(),
  keptAtMs: z.int(),
});
type Note = z.infer<typeof Note>;

const MEGABYTE = 1024 ** 2;
const LIMITS = { sessionBytes: 256 * MEGABYTE, allBytes: 4096 * MEGABYTE };
/** What programs can download or compute again. */
const LEFT_OUT = [".cache", ".npm"];

/**
 * The `HOME` folders that agents left with a session in them, each for the next turn of its job.
 * They are moved as a whole: nothing in them is read, and no link is followed.
 */
export class KeptSessions {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #limits: typeof LIMITS;
  /** By job, the oldest first. */
  #notes = new Map<string, Note>();
  #made = 0;

  /** `dir` is this process's own. */
  constructor(dir: string, clock: Clock, limits = LIMITS) {
    this.#dir = dir;
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Takes in what an earlier process kept, and removes what it kept by half. To be called before
   * anything else.
   */
  async open(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const notes: [string, Note][] = [];
    for (const name of await readdir(this.#dir)) {
      const folder = join(this.#dir, name);
      const note = isJobId(name) ? await readNote(folder) : null;
      if (note === null) await removeFolder(folder);
      else notes.push([name, note]);
    }
    this.#notes = new Map(notes.toSorted(([, one], [, other]) => one.keptAtMs - other.keptAtMs));
  }

  /**
   * Moves the job's kept folder to `home`, an empty folder. Null, with nothing moved: there is
   * none, or it isn't this agent's, or it knows more than the job's first `turns` turns. In any
   * case none is kept any more.
   */
  async take(jobId: string, agent: string, turns: number, home: string): Promise<AgentSession | null> {
    const note = this.#notes.get(jobId);
    if (note === undefined) return null;
    const folder = this.#claim(jobId);
    try {
      if (note.agent !== agent || note.turns > turns) return null;
      await rename(join(folder, "home"), home);
      return { id: note.sessionId, costUsd: note.costUsd, turns: note.turns };
    } finally {
      await removeFolder(folder);
    }
  }

  /**
   * Moves `home` here, and makes room for it by removing the oldest ones. Resolves to false, with
   * nothing kept, if it is too large or can't be measured.
   */
  async keep(jobId: string, agent: string, session: AgentSession, home: string): Promise<boolean> {
    const bytes = await trimmedBytes(home);
    if (bytes > this.#limits.sessionBytes) return false;
    const { id: sessionId, costUsd, turns } = session;
    const keptAtMs = Math.round(this.#clock.now());
    const note: Note = { version: 1, sessionId, costUsd, turns, agent, bytes, keptAtMs };
    const made = this.#newPath();
    try {
      await mkdir(made, { mode: 0o700 });
      await writeFile(join(made, "note.json"), JSON.stringify(note), { mode: 0o600 });
      await rename(home, join(made, "home"));
      await this.#remove(jobId);
      renameSync(made, join(this.#dir, jobId));
      this.#notes.set(jobId, note);
    } finally {
      await removeFolder(made);
    }
    let all = [...this.#notes.values()].reduce((sum, kept) => sum + kept.bytes, 0);
    for (const [oldest, kept] of this.#notes) {
      if (all <= this.#limits.allBytes) break;
      all -= kept.bytes;
      await this.#remove(oldest);
    }
    return true;
  }

  /** Removes the sessions that were kept before then. Resolves to how many these were. */
  async forget(sinceMs: number): Promise<number> {
    const old = [...this.#notes].filter(([, { keptAtMs }]) => keptAtMs < sinceMs);
    for (const [jobId] of old) await this.#remove(jobId);
    return old.length;
  }

  async #remove(jobId: string): Promise<void> {
    if (this.#notes.has(jobId)) await removeFolder(this.#claim(jobId));
  }

  /** Out of everybody's way, at once: removing takes a while. */
  #claim(jobId: string): string {
    const path = this.#newPath();
    this.#notes.delete(jobId);
    renameSync(join(this.#dir, jobId), path);
    return path;
  }

  /** No job has such an id. What is left there is removed at the next start. */
  #newPath(): string {
    this.#made += 1;
    return join(this.#dir, `.${this.#made}`);
  }
}

async function readNote(folder: string): Promise<Note | null> {
  try {
    const note = Note.parse(JSON.parse(await readFile(join(folder, "note.json"), "utf8")));
    return (await lstat(join(folder, "home"))).isDirectory() ? note : null;
  } catch {
    return null;
  }
}

/**
 * Removes what need not be kept, and measures the rest; infinite if that can't be done, or it is no
 * folder.
 */
async function trimmedBytes(home: string): Promise<number> {
  if (!(await lstat(home)).isDirectory()) return Infinity;
  // Its agent may have closed it. A folder that can't be written to can't be moved either.
  await chmod(home, 0o700);
  for (const name of LEFT_OUT) await removeFolder(join(home, name));
  const { bytes, isWhole } = await diskUse(home);
  return isWhole && bytes !== null ? bytes : Infinity;
}
