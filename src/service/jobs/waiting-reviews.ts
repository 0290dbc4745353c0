import { MAX_NAMES } from "../../shared/contract/pull-request.ts";
import type { WaitingReviews } from "../../shared/contract/waiting-reviews.ts";
import { projectsBeside, type ServiceProject } from "../config/config.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

/**
 * The open pull requests of a project's repository that wait for a review. The job `except` isn't
 * counted. Null as long as one more would be within the project's `openPullRequests`. Nothing is
 * refused if there are too many.
 */
export function waitingReviews(
  { store, projects }: Pick<ServiceTaskDeps, "store" | "projects">,
  project: Pick<ServiceProject, "id" | "codeHost" | "openPullRequests">,
  except: string | null = null,
): WaitingReviews | null {
  const all = store.followed.awaitingReview(projectsBeside(project, projects.values()));
  const waiting = all.filter(({ jobId }) => jobId !== except);
  if (waiting.length === 0 || waiting.length + 1 <= project.openPullRequests) return null;
  const counts = new Map<string, number>();
  for (const name of waiting.flatMap(({ reviewers }) => reviewers)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const names = [...counts].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  const since = waiting.reduce((oldest, each) => Math.min(oldest, each.since), Infinity);
  return { count: waiting.length, since, reviewers: names.slice(0, MAX_NAMES) };
}
