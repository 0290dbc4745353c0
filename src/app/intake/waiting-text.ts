import { waitingReviewsText } from "../../shared/contract/waiting-reviews.ts";
import { projectKey } from "../rules/project.ts";
import { isFresh } from "../rules/turn/watching.ts";
import type { IntakeDeps } from "./deps.ts";

/**
 * What a form says of the pull requests that wait for a review, a line for each project where they
 * are too many. Empty if there are none, or if their service doesn't tell.
 */
export async function waitingText({
  records,
  projects,
  clock,
}: Pick<IntakeDeps, "records" | "projects" | "clock">): Promise<string> {
  const now = clock.now();
  const feeds = await Promise.all(projects.map((project) => records.get("feed", projectKey(project))));
  const lines = projects.flatMap(({ name }, at) => {
    const feed = feeds[at];
    if (!feed?.waitingReviews || !isFresh(feed, now)) return [];
    const text = waitingReviewsText(feed.waitingReviews, now);
    return [projects.length === 1 ? text : `${name}: ${text}`];
  });
  return lines.join("\n");
}
