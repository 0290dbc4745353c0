import { expect, it } from "vitest";
import { openFollowingWorld } from "../../support/following-world.ts";

const DAY = 86_400_000;

it("a result says how many pull requests wait for a review, for how long and for whom", async () => {
  await using world = await openFollowingWorld({ pollSeconds: 3600, project: { openPullRequests: 2 } });
  const notesOf = async (id: string) => {
    const headers = { "Docs-Agent-Capabilities": "docs-agent/1" };
    const answer = await world.service.ask(`/v2/agent/docs/job/${id}`, { headers });
    const { turns } = (await answer.json()) as { turns: { notes: string[] }[] };
    return turns.flatMap(({ notes }) => notes);
  };
  const first = await world.job({ "docs/a.md": "# A\n" });
  await world.mine.pulls.requestReviewers({ ...first.pull, reviewers: ["mira"] });
  await world.pass(3 * DAY);
  const second = await world.job({ "docs/b.md": "# B\n" });
  await world.pass(DAY);
  const third = await world.job({ "docs/c.md": "# C\n" });
  expect(await notesOf(first.id)).toEqual([]);
  expect(await notesOf(second.id)).toEqual([]);
  expect(await notesOf(third.id)).toEqual([
    "2 other pull requests wait for a review, the oldest for 4 days (mira).",
  ]);
  await world.mine.pulls.merge(second.pull);
  await world.pass(DAY);
  expect(await notesOf((await world.job({ "docs/d.md": "# D\n" })).id)).toEqual([
    "2 other pull requests wait for a review, the oldest for 5 days (mira).",
  ]);
});

it("the feed tells of those that only wait for a review, of all projects with the repository", async () => {
  const project = { openPullRequests: 1 };
  await using world = await openFollowingWorld({ project, sharesRepository: true });
  const { service } = world;
  const told = async () => {
    const answer = await service.ask("/v2/agent/docs/changes");
    return ((await answer.json()) as { waitingReviews?: object }).waitingReviews;
  };
  expect(await told()).toBeUndefined();
  const since = `${new Date(service.clock.now()).toISOString().slice(0, 10)}T`;
  const first = await world.job({ "docs/a.md": "# A\n" }, { projectId: "api" });
  const second = await world.job({ "docs/b.md": "# B\n" });
  await world.mine.pulls.requestReviewers({ ...second.pull, reviewers: ["mira"] });
  await world.pass(DAY / 24);
  expect(await told()).toEqual({
    count: 2,
    since: expect.stringContaining(since),
    reviewers: ["mira"],
  });
  const change = (id: string, field: string, value: string) =>
    service.db
      .prepare(`UPDATE jobs SET pull_request = json_set(pull_request, ?, json(?)) WHERE id = ?`)
      .run(`$.${field}`, value, id);
  change(second.id, "review", '"approved"');
  expect(await told()).toMatchObject({ count: 1, reviewers: [] });
  for (const [field, other, value] of [
    ["isDraft", "true", "false"],
    ["isVisible", "false", "true"],
    ["state", '"merged"', '"open"'],
  ] as const) {
    change(first.id, field, other);
    expect(await told()).toBeUndefined();
    change(first.id, field, value);
    expect(await told()).toMatchObject({ count: 1 });
  }
});
