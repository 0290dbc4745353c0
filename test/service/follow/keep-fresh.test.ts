import { expect, it } from "vitest";
import { type FollowingWorld, openFollowingWorld } from "../../support/following-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** From now on, what is merged into main must be up to date with it. */
async function requireUpToDate({ mine, at }: FollowingWorld): Promise<void> {
  await mine.repos.updateBranchProtection({
    ...at,
    branch: "main",
    required_status_checks: { strict: true, contexts: [] },
    required_pull_request_reviews: null,
    enforce_admins: true,
    restrictions: null,
  });
}

const updatesOf = (world: FollowingWorld, id: string) =>
  world.service.store.turns(id).filter(({ kind }) => kind === "update").length;

/** Ends the job's newest turn as one that has changed nothing. */
async function endNewest(world: FollowingWorld, id: string): Promise<void> {
  const run = await world.service.runner.runOf(id, world.service.store.turns(id).length);
  run.end({ kind: "no-changes", summary: null, leftOut: [] });
}

it("brings a branch that is behind up to date by itself, once a day, also over a restart", async () => {
  await using world = await openFollowingWorld({ project: { keepFresh: true } });
  await requireUpToDate(world);
  const { id } = await world.job();
  await world.pass(MINUTE);
  expect(updatesOf(world, id)).toBe(0);
  await world.site.push("main", { "docs/faq.md": "# FAQ\n" });
  const begun = world.pass(15 * MINUTE);
  const run = await world.service.runner.runOf(id, 2);
  expect(run.input).toMatchObject({ kind: "update", requester: null });
  await endNewest(world, id);
  await begun;
  expect(await world.record(id)).toMatchObject({ blockedBy: "behind" });
  await world.service.stop();
  await world.service.start();
  await world.pass(20 * HOUR);
  expect(updatesOf(world, id)).toBe(1);
  const again = world.pass(10 * HOUR);
  await world.service.runner.runOf(id, 3);
  await endNewest(world, id);
  await again;
  expect(updatesOf(world, id)).toBe(2);
});

it.each([
  ["somebody has approved it", {}, true],
  ["the settings don't say so", { keepFresh: false }, false],
])("leaves a branch that is behind as it is, because %s", async (_why, project, isApproved) => {
  await using world = await openFollowingWorld({ project: { keepFresh: true, ...project } });
  await requireUpToDate(world);
  const { id, pull } = await world.job();
  if (isApproved) await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await world.site.push("main", { "docs/faq.md": "# FAQ\n" });
  await world.pass(15 * MINUTE);
  expect(await world.record(id)).toMatchObject({ blockedBy: "behind" });
  expect(updatesOf(world, id)).toBe(0);
});
