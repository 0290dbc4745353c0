import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { withoutStop } from "./status-buttons.ts";
import { MINUTE_MS, PR } from "./threads.ts";
import { ANA, DOCS } from "./world.ts";
import type { World } from "./world.ts";

/** The Monday on which tests of pull requests begin. */
export const MONDAY = Date.UTC(2026, 10, 23, 9);
/** A day in milliseconds. */
export const DAY_MS = 86_400_000;

/** How a job service says that a pull request stands. */
export type Followed = Partial<Sent<typeof FollowedPullRequest>>;

/** Ana asks, and gets her link. */
export async function linked(world: World, prLink = PR, pullRequest: Followed = {}): Promise<string> {
  const { service, slack } = world;
  const before = world.read(DOCS).length;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => world.read(DOCS).length > before && service.creates.length > 0);
  const jobId = service.creates.at(-1)?.jobId ?? "";
  service.finish(jobId, { status: "completed", prLink });
  service.follow(jobId, pullRequest);
  await world.until(() => world.read(DOCS).length === before + 2);
  await world.pass(MINUTE_MS);
  return jobId;
}

/**
 * The service says so, and everything that follows from it happens: within a minute where it
 * reports changes, which each take a moment to wait for, and otherwise with the next poll.
 */
export async function stands(world: World, jobId: string, ...pullRequests: Followed[]): Promise<void> {
  const minutes = world.service.feed === null ? 12 : 2;
  for (const pullRequest of pullRequests) {
    world.service.follow(jobId, pullRequest);
    await world.pass(minutes * MINUTE_MS);
  }
}

/** The replies after the one with the link. */
export function told(world: World): string[] {
  return world.read(DOCS).slice(2);
}

/** The last line of the thread's first message. */
export function stateOf(world: World): string {
  const [root] = world.slack.messages(DOCS);
  return root === undefined ? "" : (withoutStop(world.slack.visibleText(root)).split("\n").at(-1) ?? "");
}

/** A review that requests changes. */
export function review(
  id: string,
  words: string,
  author = "maria",
): Sent<typeof FollowedPullRequest>["reviews"][number] {
  const at = new Date(MONDAY + DAY_MS).toISOString();
  return { id, author, words, state: "changes-requested", at, headSha: null };
}
