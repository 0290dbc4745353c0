import type { NewTask, TaskEnd } from "../../core/task-queue.ts";
import type { ServiceTaskDeps } from "./deps.ts";

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
/** A step is bounded, so that it never blocks for long. */
const ARCHIVE_LIMIT = 200;
/** Clients repeat a request within minutes, an operator's script perhaps within a day. */
const KEEP_ANSWERED_MS = 7 * DAY_MS;

/** The task that tidies up, again and again. */
export function tidyTask(): NewTask {
  return { id: "tidy", type: "tidy", payload: {}, known: "pending" };
}

/** Archives jobs that nothing happened to for long, and forgets old idempotency keys. Runs twice: nothing is left to do. */
export async function tidy(deps: ServiceTaskDeps): Promise<TaskEnd> {
  const nowMs = deps.clock.now();
  let hasMore = false;
  for (const project of deps.projects.values()) {
    const sinceMs = nowMs - project.archiveAfterDays * DAY_MS;
    const jobs = deps.store.archiveInactive(project.id, sinceMs, ARCHIVE_LIMIT, nowMs);
    if (jobs.length > 0) deps.logger.info({ project: project.id, jobs }, "inactive jobs archived");
    hasMore ||= jobs.length === ARCHIVE_LIMIT;
  }
  deps.store.forgetAnswered(nowMs - KEEP_ANSWERED_MS);
  return { kind: "again", dueAt: hasMore ? nowMs + 1000 : nowMs + EVERY_MS };
}
