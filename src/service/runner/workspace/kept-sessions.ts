import { renameSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import { isJobId } from "../../config/branches.ts";
import { discard, removeFolder } from "./folders.ts";
import { diskUse } from "./sandbox/disk-watch.ts";

/** An agent's session after a turn. */
export type AgentSession = {
  /** The agent's own id for it. */
  id: string;
  /** Its cost so far in US dollars, as the agent states it. Null if it doesn't. */
  costUsd: number | null;
  /** How many of its job's first turns it knows. */
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
  /** By job, oldest first. */
  #notes = new Map<string, Note>();
  #made = 0;

  /** `dir` is for this instance alone. */
  constructor(dir: string, clock: Clock, limits = LIMITS) {
    this.#dir = dir;
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Finds what an earlier process kept, and moves what it had only half kept to `trash`. Call this
   * first.
   */
  async open(trash: string): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const notes: [string, Note][] = [];
    for (const name of await readdir(this.#dir)) {
      const folder = join(this.#dir, name);
      const note = isJobId(name) ? await readNote(folder) : null;
      if (note === null) await discard(folder, trash);
      else notes.push([name, note]);
    }
    this.#notes = new Map(notes.toSorted(([, one], [, other]) => one.keptAtMs - other.keptAtMs));
  }

  /**
   * Moves the job's kept folder to `home`, an empty folder. Resolves to null, and moves nothing, if
   * there is none, it is another agent's, or it knows more than the job's first `turns` turns. In
   * any case, none is kept afterwards.
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
   * Moves `home` here, after removing the oldest ones to make room for it. Resolves to false, and
   * keeps nothing, if it is too large or can't be measured.
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

  /** Removes the sessions that were kept before this time. Resolves to their number. */
  async forget(sinceMs: number): Promise<number> {
    const old = [...this.#notes].filter(([, { keptAtMs }]) => keptAtMs < sinceMs);
    for (const [jobId] of old) await this.#remove(jobId);
    return old.length;
  }

  async #remove(jobId: string): Promise<void> {
    if (this.#notes.has(jobId)) await removeFolder(this.#claim(jobId));
  }

  /** Moves it out of the way first, because removing it takes a while. */
  #claim(jobId: string): string {
    const path = this.#newPath();
    this.#notes.delete(jobId);
    renameSync(join(this.#dir, jobId), path);
    return path;
  }

  /** No job has such an id. Whatever is left there is removed at the next start. */
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
 * Removes what needn't be kept, and measures the rest. Infinite if that isn't possible, or it isn't
 * a folder.
 */
async function trimmedBytes(home: string): Promise<number> {
  if (!(await lstat(home)).isDirectory()) return Infinity;
  // Its agent may have taken away its permissions, and a folder that can't be written to can't be
  // moved.
  await chmod(home, 0o700);
  for (const name of LEFT_OUT) await removeFolder(join(home, name));
  const { bytes, isWhole } = await diskUse(home);
  return isWhole && bytes !== null ? bytes : Infinity;
}
