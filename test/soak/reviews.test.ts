// @module-tag all

import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { DEFAULT_API_KEY, startJobServiceSide } from "../../world/job-service/side.ts";
import { Reviews } from "./reviews.ts";

const URL = "https://github.com/acme/docs/pull/7";
const TURN = "command:1.2.3";
const LINK = "✅ Your pull request is ready";
const REVIEWED = "✏️ maria asks for changes in acme/docs#7: See [review-1].";
const MERGED = "🎉 acme/docs#7 is merged.";
const slack = { visibleText: ({ text = "" }: { text?: string }) => text };

function postsOf(texts: readonly string[]): SlackMessage[] {
  return texts.map((text, index) => ({
    channel: "C1",
    ts: `${index + 1}.000100`,
    user: "UBOT",
    text,
    deleted: false,
    mentions: [],
    metadata: { event_type: "docs_agent_turn", event_payload: { turn_id: TURN, post: `news-${index}` } },
  }));
}

/** Makes a job whose pull request was reviewed once, and merged. */
async function reviewed() {
  const side = await startJobServiceSide({ level: 1 });
  const created = await fetch(`${side.baseUrl}/v2/agent/docs/job`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${DEFAULT_API_KEY}` },
    body: JSON.stringify({ prompt: "Fix it" }),
  });
  expect(created.status).toBe(201);
  return side;
}

it.each([
  ["what was told once and in order", [LINK, REVIEWED, MERGED], { lost: 0, doubled: 0 }],
  ["a review that nobody was told of", [LINK, MERGED], { lost: 1, doubled: 0 }],
  ["a merge that nobody was told of", [LINK, REVIEWED], { lost: 1, doubled: 0 }],
  ["a merge that was told twice", [LINK, REVIEWED, MERGED, MERGED], { lost: 0, doubled: 1 }],
  ["a review after the merge", [LINK, MERGED, REVIEWED], { lost: 0, doubled: 1 }],
])("judges %s", async (_, texts, counts) => {
  await using side = await reviewed();
  const [job] = side.creates;
  if (job === undefined) throw new Error("There is no job.");
  side.finish(job.jobId, { status: "completed", prLink: URL });
  const creates = [{ ...job, idempotencyKey: TURN }];
  const { messages, jobs, level } = side;
  const follow = side.follow.bind(side);
  const reviews = new Reviews({ creates, messages, jobs, level, follow }, URL);
  reviews.take({ do: "review", what: "changes-requested" });
  expect(reviews.settle()).toBe(true);
  expect(side.jobs.get(job.jobId)?.pullRequest).toMatchObject({ state: "merged", url: URL });
  const { lost, doubled } = reviews.judge(slack, postsOf(texts));
  expect({ lost: lost.length, doubled: doubled.length }).toEqual(counts);
});
