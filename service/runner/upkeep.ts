import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger } from "../../src/core/ports/process.ts";
import { isJobId, jobBranch } from "../config/repository.ts";
import type { RunnerFolders } from "./folders.ts";
import { RefConflictError } from "./git/git-fault.ts";
import type { KeyedLock } from "./git/keyed-lock.ts";
import type { Mirror } from "./git/mirror.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import type { PullRequestHost } from "../code-host/code-host.ts";
import { removeTurnNote } from "./publish/turn-note.ts";
import { operatorText } from "../base/run-error.ts";
import type { KeptTrees } from "./tree/kept-trees.ts";

/** A project as its mirror and branches are looked after. */
export type UpkeepProject = {
  mirror: Mirror;
  /** Null: branches of jobs stay. */
  codeHost: PullRequestHost | null;
};

/** By mirror: how far the last pass came in the branches, and when it was last to be packed. */
export class UpkeepMemory {
  readonly places = new Map<string, string>();
  readonly packedAtMs = new Map<string, number>();
}

export type UpkeepContext = {
  projects: readonly UpkeepProject[];
  isUnfinished: (jobId: string) => boolean;
  folders: RunnerFolders;
  trees: KeptTrees;
  sessions: KeptSessions;
  mirrorLock: KeyedLock;
  clock: Clock;
  logger: Logger;
  /** Of the caller, kept between passes. */
  memory: UpkeepMemory;
  signal: AbortSignal;
};

const DAY_MS = 24 * 60 * 60_000;
const KEEP_TREES_MS = DAY_MS;
/** A follow-up after that gets the earlier turns as text. */
const KEEP_SESSIONS_MS = 7 * DAY_MS;
const PACK_EVERY_MS = DAY_MS;
/**
 * A turn that was pushed may run again for hours, and after a stop of the service later than that.
 */
const KEEP_NOTES_MS = 7 * DAY_MS;
/** A project may come back into the settings. */
const KEEP_MIRRORS_MS = 7 * DAY_MS;
const MAX_NOTES = 500;
const MAX_MIRRORS = 10;
/** Each is a question to the code host. */
const MAX_BRANCHES = 20;

/**
 * Removes what turns left that nobody needs any more, a bounded part at a time: kept trees and
 * sessions, notes of turns, mirrors of projects that are gone, and branches at the remote that were
 * merged just as they are. Packs the mirrors. What fails is logged, and left for the next time.
 */
export async function lookAfter(context: UpkeepContext): Promise<void> {
  const { folders, trees, sessions, memory, clock, logger, signal } = context;
  const nowMs = clock.now();
  async function step(what: string, act: () => Promise<number>): Promise<void> {
    signal.throwIfAborted();
    try {
      const count = await act();
      if (count > 0) logger.info({ count }, what);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ problem: operatorText(error) }, `${what}: failed`);
    }
  }

  await step("unused trees removed", () => trees.forget(nowMs - KEEP_TREES_MS));
  await step("unused sessions of agents removed", () => sessions.forget(nowMs - KEEP_SESSIONS_MS));
  await step("notes of ended turns removed", () =>
    removeOld(folders.notes, nowMs - KEEP_NOTES_MS, MAX_NOTES, async (name) => {
      const jobId = name.replace(/\.json(?:\.new)?$/, "");
      if (context.isUnfinished(jobId)) return false;
      await removeTurnNote(folders.notes, jobId);
      return true;
    }),
  );
  const used = new Set(context.projects.map(({ mirror }) => mirror.path));
  await step("mirrors of removed projects removed", () =>
    removeOld(folders.mirrors, nowMs - KEEP_MIRRORS_MS, MAX_MIRRORS, async (name) => {
      const path = join(folders.mirrors, name);
      if (used.has(path)) return false;
      await context.mirrorLock.run(path, signal, () => rm(path, { recursive: true, force: true }));
      return true;
    }),
  );
  for (const project of context.projects) {
    const { mirror } = project;
    if (!existsSync(mirror.path)) continue;
    await step("merged branches removed", () => removeMergedBranches(project, context));
    if ((memory.packedAtMs.get(mirror.path) ?? 0) > nowMs - PACK_EVERY_MS) continue;
    await step("mirror packed", () =>
      mirror.use(async () => {
        if (!(await mirror.needsPacking())) return 0;
        // Before it is: one that takes too long would take as long in an hour.
        memory.packedAtMs.set(mirror.path, nowMs);
        await mirror.pack();
        return 1;
      }),
    );
  }
}

/** Only branches that end in what was merged: whatever somebody added since stays. */
async function removeMergedBranches(
  { codeHost, mirror }: UpkeepProject,
  { memory: { places }, isUnfinished, logger, signal }: UpkeepContext,
): Promise<number> {
  if (codeHost === null) return 0;
  const after = places.get(mirror.path) ?? "";
  const all = await mirror.use(() => mirror.jobBranches());
  const next = all.filter(({ jobId }) => jobId > after).slice(0, MAX_BRANCHES);
  let removed = 0;
  for (const { jobId, commit } of next) {
    // Before anything fails: one branch must not keep the rest from their turn.
    places.set(mirror.path, jobId);
    if (!isJobId(jobId) || isUnfinished(jobId)) continue;
    const pulls = await codeHost.find(jobBranch(jobId), signal);
    const isMerged = pulls[0]?.state === "merged" && pulls[0].headSha === commit;
    if (!isMerged || pulls.some(({ state }) => state === "open")) continue;
    await mirror.use(async () => {
      if (isUnfinished(jobId)) return;
      try {
        await mirror.push(jobId, null, commit);
        logger.info({ job_id: jobId }, "merged branch removed");
        removed += 1;
      } catch (error) {
        // Somebody else removed it, or added to it: the next fetch tells.
        if (!(error instanceof RefConflictError)) throw error;
      }
      await mirror.forgetJobBranch(jobId, commit);
    });
  }
  // From the beginning again once the end was reached.
  if (next.length < MAX_BRANCHES) places.delete(mirror.path);
  return removed;
}

/**
 * Asks `remove` about what has not been written to since then, for so many names at most. Resolves
 * to how many it removed.
 */
async function removeOld(
  folder: string,
  sinceMs: number,
  limit: number,
  remove: (name: string) => Promise<boolean>,
): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder)) {
    if (removed >= limit) break;
    const path = join(folder, name);
    // A mirror's settings are written with each use.
    const stats =
      (await stat(join(path, "config")).catch(() => null)) ?? (await stat(path).catch(() => null));
    if (stats !== null && stats.mtimeMs < sinceMs && (await remove(name))) removed += 1;
  }
  return removed;
}
