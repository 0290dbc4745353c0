import { expect, it } from "vitest";
import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const READS = { "docs-agent-capabilities": "docs-agent/1" };
const LEFT = {
  url: "https://git.example/acme/docs/pull/7",
  number: 7,
  title: "Correct the install page",
  state: "open",
  files: 3,
  additions: 12,
  deletions: 4,
  headRef: "docs-agent/job-1",
  headSha: "0123456789abcdef0123456789abcdef01234567",
};
const REVIEW = {
  id: "r-1",
  author: "ben",
  words: "Fine",
  state: "approved",
  at: "2026-11-21T10:00:00Z",
};
const FOLLOWED = {
  url: LEFT.url,
  number: 7,
  title: LEFT.title,
  state: "open",
  isDraft: false,
  review: "approved",
  checks: { state: "passed", failed: [] },
  reviews: [REVIEW],
  headSha: LEFT.headSha,
  openedAt: "2026-11-21T09:00:00Z",
};
/** What a version of today adds to an older version's record. */
const ADDED = { waitingFor: [], mergeable: null, blockedBy: null, isVisible: true, roundsLeft: 3 };
const ALL = { ...FOLLOWED, ...ADDED, reviews: [{ ...REVIEW, headSha: null }] };

/** The job, with these as they are stored in its row and in its turn's. */
async function readStored(followed: object, left: object): Promise<Sent<typeof FullJob>> {
  await using subject = await ServiceUnderTest.start();
  const created = await subject.ask("/v2/agent/docs/job", { body: { prompt: "Fix" }, headers: READS });
  const { id } = (await created.json()) as { id: string };
  subject.db.prepare(`UPDATE jobs SET pull_request = ? WHERE id = ?`).run(JSON.stringify(followed), id);
  subject.db.prepare(`UPDATE turns SET pull_request = ? WHERE job_id = ?`).run(JSON.stringify(left), id);
  const response = await subject.ask(`/v2/agent/docs/job/${id}`, { headers: READS });
  expect(response.status).toBe(200);
  return (await response.json()) as Sent<typeof FullJob>;
}

it("shows a pull request that an older version stored, which knew fewer fields", async () => {
  const { pullRequest, turns } = await readStored(FOLLOWED, LEFT);
  expect(pullRequest).toEqual(ALL);
  expect(turns?.[0]?.pullRequest).toEqual(LEFT);
});

it("shows one that a newer version stored, without what this one doesn't know", async () => {
  const labels = ["docs"];
  const reviews = [{ ...REVIEW, headSha: null, isDismissed: false }];
  const newer = { ...ALL, reviews, blockedBy: "rules", labels };
  const { pullRequest, turns } = await readStored(newer, { ...LEFT, isDraft: true, labels });
  expect(pullRequest).toEqual(ALL);
  expect(turns?.[0]?.pullRequest).toEqual({ ...LEFT, isDraft: true });
});

it("shows none in place of one that can't be read, and the rest of the job", async () => {
  const { pullRequest, turns } = await readStored({ ...ALL, url: 7 }, { url: LEFT.url });
  expect(pullRequest).toBeNull();
  expect(turns).toMatchObject([{ number: 1, pullRequest: null }]);
});
