import { expect, it } from "vitest";
import { type FollowingWorld, openFollowingWorld } from "../../support/following-world.ts";

const MINUTE = 60_000;
const PAGES = { "docs/a.md": "# A\n" };

/** What a client hears of changes after this cursor: the pages that each changed job overlaps. */
async function heard({ service }: FollowingWorld, after: string | null) {
  const query = after === null ? "" : `?after=${after}`;
  const headers = { "Docs-Agent-Capabilities": "docs-agent/1" };
  const answer = await service.ask(`/v2/agent/docs/changes${query}`, { headers });
  type Told = { jobs: { id: string; pullRequest: { overlaps?: string[] } | null }[]; next: string };
  const { jobs, next } = (await answer.json()) as Told;
  return { next, jobs: new Map(jobs.map(({ id, pullRequest }) => [id, pullRequest?.overlaps])) };
}

it("a job's record names the open pull requests that overlap its own, as long as they do", async () => {
  await using world = await openFollowingWorld({ sharesRepository: true });
  const overlapsOf = async ({ id }: { id: string }, projectId?: string) =>
    (await world.record(id, projectId))?.overlaps;
  const first = await world.job(PAGES);
  await world.pass(MINUTE);
  const second = await world.job(PAGES, { overlaps: [first.prLink] });
  await world.pass(MINUTE);
  // Another project's turn is told of both, because they are in its repository.
  const third = await world.job(PAGES, { projectId: "api", overlaps: [first.prLink] });
  expect(third.openPulls?.map(({ url }) => url)).toEqual([second.prLink, first.prLink]);
  await world.pass(MINUTE);
  expect(await overlapsOf(second)).toEqual([first.prLink]);
  expect(await overlapsOf(third, "api")).toEqual([first.prLink]);
  expect(await overlapsOf(first)).toEqual([third.prLink, second.prLink]);

  const { next } = await heard(world, null);
  await world.mine.pulls.update({ ...second.pull, state: "closed" });
  await world.pass(MINUTE);
  expect(await overlapsOf(second)).toBeUndefined();
  expect((await heard(world, next)).jobs).toEqual(
    new Map([
      [first.id, [third.prLink]],
      [second.id, undefined],
    ]),
  );
  await world.mine.pulls.update({ ...second.pull, state: "open" });
  await world.mine.pulls.merge(third.pull);
  await world.pass(MINUTE);
  expect(await overlapsOf(first)).toEqual([second.prLink]);
  expect(await overlapsOf(second)).toEqual([first.prLink]);
});

it("what a later turn finds replaces what was known of both", async () => {
  await using world = await openFollowingWorld();
  const first = await world.job(PAGES);
  const second = await world.job(PAGES, { overlaps: [first.prLink] });
  await world.pass(MINUTE);
  expect((await world.record(first.id))?.overlaps).toEqual([second.prLink]);
  const { service } = world;
  await service.ask(`/v2/agent/docs/job/${second.id}/message`, { body: { prompt: "Take that back" } });
  const run = await service.runner.runOf(second.id, 2);
  const { next } = await heard(world, null);
  run.end({ kind: "pull-request", prLink: second.prLink, summary: "Less", leftOut: [] });
  await expect
    .poll(async () => (await heard(world, next)).jobs)
    .toEqual(
      new Map([
        [first.id, undefined],
        [second.id, undefined],
      ]),
    );
});
