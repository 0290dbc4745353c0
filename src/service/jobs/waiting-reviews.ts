import { counted, cut } from "../../shared/text/text.ts";
import type { ServiceProject } from "../config/config.ts";
import type { FollowedJob } from "./followed-store.ts";

const DAY_MS = 86_400_000;
const NAMES_MAX = 5;
const NAME_MAX_CHARS = 50;

/**
 * What to tell of a project's other pull requests that wait for a review. Null unless there are
 * more, together with the one of this job, than its settings want. Nothing is refused for it.
 */
export function waitingReviewsNote(
  { openPullRequests }: Pick<ServiceProject, "openPullRequests">,
  followed: readonly Pick<FollowedJob, "jobId" | "beganAt" | "record">[],
  { jobId, now }: { jobId: string; now: number },
): string | null {
  const waiting = followed.flatMap(({ record, beganAt, ...job }) => {
    const isWaiting = record?.state === "open" && record.isVisible && !record.isDraft;
    if (job.jobId === jobId || !isWaiting || record.review !== "none") return [];
    return [{ since: record.openedAt ?? beganAt, reviewers: record.waitingFor }];
  });
  if (waiting.length + 1 <= openPullRequests) return null;
  const oldest = waiting.toSorted((one, other) => one.since - other.since)[0];
  if (oldest === undefined) return null;
  const days = Math.max(0, Math.floor((now - oldest.since) / DAY_MS));
  const age = days === 0 ? "since today" : `for ${counted(days, "day")}`;
  const one = waiting.length === 1 ? ["1 other pull request waits", ""] : null;
  const [wait, theOldest] = one ?? [`${waiting.length} other pull requests wait`, ", the oldest"];
  return `${wait} for a review${theOldest} ${age}${namesOf(waiting)}.`;
}

/** Whom the pull requests wait for, those that most wait for first. */
function namesOf(waiting: readonly { reviewers: readonly string[] }[]): string {
  const counts = new Map<string, number>();
  for (const name of waiting.flatMap(({ reviewers }) => reviewers)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const names = [...counts].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  if (names.length === 0) return "";
  const shown = names.slice(0, NAMES_MAX).map((name) => cut(name, NAME_MAX_CHARS));
  const more = names.length - shown.length;
  return ` (${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`})`;
}
