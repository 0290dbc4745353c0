import type { NewTask, TaskEnd } from "../../shared/queue/task-queue.ts";
import { messageOf } from "../../shared/errors.ts";
import { projectOfJob } from "./rows.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
/** The most jobs in one step, so that a step never blocks for long. */
const LIMIT = 200;
/** Clients repeat a request within minutes, and an operator's script perhaps within a day. */
const KEEP_ANSWERED_MS = 7 * DAY_MS;
/** For projects that are no longer in the settings. */
const REMOVED_PROJECT = { archiveAfterDays: 90, keepArchivedDays: 90 };

/** The task that removes what is old, every hour. */
export function tidyTask(): NewTask {
  return { id: "tidy", type: "tidy", payload: {}, onDuplicate: "pending" };
}

/**
 * Archives inactive jobs, deletes jobs that were archived long ago and old idempotency keys, and
 * has the runner clean up its files. Safe to run twice.
 */
export async function tidy(deps: ServiceTaskDeps, stopped: AbortSignal): Promise<TaskEnd> {
  const { store, projects, clock, logger } = deps;
  const nowMs = clock.now();
  let hasMore = false;
  for (const id of new Set([...projects.keys(), ...store.retention.projectIds()])) {
    const { archiveAfterDays, keepArchivedDays } = projects.get(id) ?? REMOVED_PROJECT;
    const jobs = store.retention.archiveInactive(id, nowMs - archiveAfterDays * DAY_MS, LIMIT, nowMs);
    if (jobs.length > 0) logger.info({ project: id, jobs }, "inactive jobs archived");
    const forgotten = store.retention.forgetArchived(id, nowMs - keepArchivedDays * DAY_MS, LIMIT);
    if (forgotten > 0) logger.info({ project: id, count: forgotten }, "archived jobs forgotten");
    hasMore ||= jobs.length === LIMIT || forgotten === LIMIT;
  }
  store.retention.forgetAnswered(nowMs - KEEP_ANSWERED_MS);
  // Runs again soon, because there is more to do. The runner's files can wait.
  if (hasMore) return { kind: "again", dueAt: nowMs + 1000 };
  await deps.attachments.sweep();
  try {
    const unfinishedOf = (ids: readonly string[] | null) => new Set(store.unfinishedJobs(ids));
    // Jobs keep the branches that they began with, so a project may have several kinds of them.
    const all = [...projects.values()].flatMap((project) => {
      const prefixes = [project.pullRequests.branchPrefix, ...store.retention.branchPrefixes(project.id)];
      return [...new Set(prefixes)].map((branchPrefix) => projectOfJob(project, { branchPrefix }));
    });
    const removed = await deps.notes.removeOld(unfinishedOf(null), nowMs);
    if (removed > 0) logger.info({ count: removed }, "notes of ended turns removed");
    await deps.pool.upkeep({ projects: all, unfinishedOf, signal: stopped });
  } catch (thrown) {
    if (!stopped.aborted)
      logger.warn({ problem: messageOf(thrown) }, "what the runner keeps can't be tidied");
  }
  return { kind: "again", dueAt: nowMs + EVERY_MS };
}
