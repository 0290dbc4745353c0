import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isJobId, jobBranch } from "../../config/branches.ts";
import { RefConflictError } from "../workspace/git/git-fault.ts";
import { hasPart } from "../publish/our-parts.ts";
import type { KeyedLock } from "../workspace/git/keyed-lock.ts";
import { operatorText } from "../../base/run-error.ts";
import type { TurnContext } from "../turn-context.ts";

/** A project whose mirror and branches are maintained. Without a code host, its branches stay. */
export type UpkeepProject = Pick<TurnContext, "mirror" | "codeHost"> & {
  baseBranch: string;
  branchPrefix: string;
};

/**
 * How far the last pass got with the branches, by mirror and prefix, and when mirrors were last
 * packed.
 */
export type UpkeepMemory = { places: Map<string, string>; packedAtMs: Map<string, number> };

type UpkeepContext = {
  projects: readonly UpkeepProject[];
  isUnfinished: (jobId: string) => boolean;
  mirrorLock: KeyedLock;
  /** Owned by the caller, and kept between passes. */
  memory: UpkeepMemory;
} & Pick<TurnContext, "folders" | "trees" | "sessions" | "clock" | "logger" | "signal">;

const DAY_MS = 24 * 60 * 60_000;
const KEEP_TREES_MS = DAY_MS;
/** A later follow-up gets the earlier turns as text. */
const KEEP_SESSIONS_MS = 7 * DAY_MS;
const PACK_EVERY_MS = DAY_MS;
/** A project may come back into the settings. */
const KEEP_MIRRORS_MS = 7 * DAY_MS;
const MAX_MIRRORS = 10;
/** Each is a request to the code host. */
const MAX_BRANCHES = 20;

/**
 * Removes what turns left and nobody needs anymore, a limited amount at a time: kept trees and
 * sessions, mirrors of removed projects, and branches at the remote that were
 * merged as they are. Packs the mirrors. Failures are logged, and tried again the next time.
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
  const used = new Set(context.projects.map(({ mirror }) => mirror.path));
  await step("mirrors of removed projects removed", () =>
    removeOld(folders.mirrors, nowMs - KEEP_MIRRORS_MS, MAX_MIRRORS, async (name) => {
      const path = join(folders.mirrors, name);
      if (used.has(path)) return false;
      await context.mirrorLock.run(path, signal, () => rm(path, { recursive: true, force: true }));
      return true;
    }),
  );
  const there = context.projects.filter(({ mirror }) => existsSync(mirror.path));
  for (const project of there) {
    await step("merged branches removed", () => removeMergedBranches(project, context));
  }
  // A project has several prefixes if the settings named another one when a job began.
  for (const its of Map.groupBy(there, ({ mirror }) => mirror.path).values()) {
    const mirror = its[0]?.mirror;
    if (mirror === undefined) continue;
    if ((memory.packedAtMs.get(mirror.path) ?? 0) > nowMs - PACK_EVERY_MS) continue;
    await step("mirror packed", () =>
      mirror.use(async () => {
        if (!(await mirror.needsPacking())) return 0;
        // Noted before packing. One that takes too long now would take as long in an hour.
        memory.packedAtMs.set(mirror.path, nowMs);
        await mirror.pack(its.map(({ branchPrefix }) => branchPrefix));
        return 1;
      }),
    );
  }
}

/**
 * Removes only branches that end with the commit that was merged into the base branch. What
 * somebody added later stays.
 */
async function removeMergedBranches(
  { codeHost, mirror, baseBranch, branchPrefix }: UpkeepProject,
  { memory: { places }, isUnfinished, logger, signal }: UpkeepContext,
): Promise<number> {
  if (codeHost === null) return 0;
  const place = `${mirror.path} ${branchPrefix}`;
  const after = places.get(place) ?? "";
  const all = await mirror.use(() => mirror.jobBranches());
  const next = all.filter(({ jobId }) => jobId > after).slice(0, MAX_BRANCHES);
  let removed = 0;
  for (const { jobId, commit } of next) {
    // Noted before anything can fail, so that one branch doesn't hold up the others.
    places.set(place, jobId);
    if (!isJobId(jobId) || isUnfinished(jobId)) continue;
    const pulls = await codeHost.find(jobBranch(branchPrefix, jobId), signal);
    const [newest] = pulls;
    const isMerged = newest?.state === "merged" && newest.baseRef === baseBranch && newest.headSha === commit;
    // People's branches may begin alike.
    if (!isMerged || !hasPart(newest.body, "main") || pulls.some(({ state }) => state === "open")) continue;
    await mirror.use(async () => {
      if (isUnfinished(jobId)) return;
      try {
        await mirror.push(jobId, null, commit);
        logger.info({ job_id: jobId }, "merged branch removed");
        removed += 1;
      } catch (error) {
        // Somebody else removed it or added to it.
        if (!(error instanceof RefConflictError)) throw error;
      }
    });
  }
  // Starts from the beginning again after the end.
  if (next.length < MAX_BRANCHES) places.delete(place);
  return removed;
}

/**
 * Calls `remove` for names that nobody has written to since this time, for a limited number of
 * them. Resolves to how many it removed.
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
