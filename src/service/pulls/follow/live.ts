import { z } from "zod";
import type { NewTask, Task } from "../../../shared/queue/task-queue.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { RunError } from "../../base/run-error.ts";
import type { ServiceProject } from "../../config/config.ts";
import { changedAddresses } from "../../config/page-address.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { GitHubFollowedHost } from "../code-host/github-followed-host.ts";

const Payload = z.object({ jobId: z.string(), number: z.int(), link: z.string(), mergedAt: z.int() });
type Payload = z.infer<typeof Payload>;

/** A page that is built and deployed within this time is told of, milliseconds. */
const WITHIN_MS = 24 * 60 * 60_000;
/** The first look, and the shortest time between two, milliseconds. */
const SOONEST_MS = 60_000;
const MAX_PAGES = 3;

/** True if the page at `url` has the new words of `patch`. Rejects only if the signal aborts. */
export type IsLive = (
  project: ServiceProject,
  page: { url: string; patch: string },
  signal: AbortSignal,
) => Promise<boolean>;

/** The task that looks for the change on the site. It is added once for each merge. */
export function liveTask({ jobId, number, link, mergedAt }: Payload): NewTask {
  const payload = { jobId, number, link, mergedAt };
  const dueAt = mergedAt + SOONEST_MS;
  return { id: `live:${jobId}:${number}`, type: "live", dueAt, onDuplicate: "once", payload };
}

/**
 * Finds out, with one look, if a merged change is on the site. Safe to run twice: it changes
 * nothing but the record, and that once.
 */
export async function lookForLive(
  task: Task,
  { store, clock, isLive, placeOf }: LiveDeps,
  signal: AbortSignal,
) {
  const payload = Payload.parse(task.payload);
  const { jobId, link, number, mergedAt } = payload;
  const ageMs = clock.now() - mergedAt;
  const done = () => ({ value: { kind: "done" as const } });
  const place = placeOf(store.job(jobId)?.projectId);
  if (place === null || ageMs > WITHIN_MS || !store.followed.awaitsLive(jobId, link)) return done;
  const { project, host } = place;
  const again = { kind: "again" as const, dueAt: clock.now() + Math.max(SOONEST_MS, ageMs / 2) };
  if (project.liveUrl === undefined) return done;
  let changed: Awaited<ReturnType<typeof host.changedPages>>;
  try {
    changed = await host.changedPages(number, signal);
  } catch (error) {
    if (error instanceof RunError) return () => ({ value: again });
    throw error;
  }
  const patches = new Map(changed.map(({ path, patch }) => [path, patch]));
  const pages = changedAddresses(project.liveUrl, changed, MAX_PAGES);
  if (pages.length === 0) return done;
  for (const { path, url } of pages) {
    if (!(await isLive(project, { url, patch: patches.get(path) ?? "" }, signal))) continue;
    return () => {
      store.followed.setLive(jobId, link, url);
      return { value: { kind: "done" as const } };
    };
  }
  return () => ({ value: again });
}

type LiveDeps = {
  store: Pick<JobStore, "job" | "followed">;
  clock: Clock;
  isLive: IsLive;
  /** The project and its code host. Null if there is none by now. */
  placeOf: (
    projectId: string | undefined,
  ) => { project: ServiceProject; host: Pick<GitHubFollowedHost, "changedPages"> } | null;
};
