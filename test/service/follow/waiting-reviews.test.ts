import { expect, it } from "vitest";
import { waitingReviewsNote } from "../../../src/service/jobs/waiting-reviews.ts";
import { openFollowingWorld } from "../../support/following-world.ts";

const DAY = 86_400_000;

it("a result says how many pull requests wait for a review, for how long and for whom", async () => {
  await using world = await openFollowingWorld({ project: { openPullRequests: 2 } });
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

it("counts neither its own pull request nor what waits for something else", () => {
  const record = {
    url: "https://github.com/acme/docs/pull/1",
    number: 1,
    title: "Fix",
    state: "open" as const,
    isDraft: false,
    review: "none" as const,
    checks: { state: "passed" as const, failed: [] },
    reviews: [],
    waitingFor: [],
    mergeable: null,
    blockedBy: null,
    headSha: "0",
    isVisible: true,
    openedAt: 0,
  };
  const others = [
    { ...record },
    { ...record, isDraft: true },
    { ...record, review: "approved" as const },
    { ...record, state: "closed" as const },
    null,
  ].map((each, n) => ({ jobId: `job-${n}`, beganAt: 0, record: each }));
  const note = (openPullRequests: number, jobId = "job-9") =>
    waitingReviewsNote({ openPullRequests }, others, { jobId, now: DAY / 2 });
  expect(note(1)).toBe("1 other pull request waits for a review since today.");
  expect(note(2)).toBeNull();
  expect(note(1, "job-0")).toBeNull();
});
