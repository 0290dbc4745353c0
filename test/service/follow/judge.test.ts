import { expect, it } from "vitest";
import { z } from "zod";
import type { HostedCheck } from "../../../src/service/pulls/code-host/github-checks.ts";
import { type PullFacts, toLook } from "../../../src/service/pulls/code-host/github-pull-facts.ts";
import { FollowMemory } from "../../../src/service/jobs/followed-store.ts";
import { afterSeen, toFollowed } from "../../../src/service/pulls/follow/judge.ts";
import { FollowedPullRequest } from "../../../src/shared/contract/pull-request.ts";

function facts(over: Partial<PullFacts> = {}): PullFacts {
  return {
    number: 7,
    url: "https://github.com/acme/docs/pull/7",
    title: "Fix it",
    state: "open",
    isDraft: false,
    headRef: "docs-agent/a",
    headSha: "abc",
    baseRef: "main",
    author: "docs-agent",
    openedAt: 0,
    updatedAt: 0,
    isMergeable: true,
    mergeState: "clean",
    needsApproval: false,
    opinions: [],
    deployedTo: [],
    pages: [],
    reviews: [],
    waitingFor: [],
    isVisible: true,
    checks: [],
    ...over,
  };
}

const judged = (over: Partial<PullFacts>, failedBefore: string[] = []) =>
  toFollowed(facts(over), new Set(failedBefore));
const check = (name: string, state: HostedCheck["state"], isRequired: boolean | null = null) => ({
  name,
  state,
  isRequired,
});

it.each<[what: string, PullFacts["opinions"], needsApproval: boolean, review: string]>([
  ["nobody", [], false, "none"],
  ["one approves", [{ author: "mira", state: "approved" }], false, "approved"],
  ["one approves of two that are wanted", [{ author: "mira", state: "approved" }], true, "none"],
  ["the author's own", [{ author: "docs-agent", state: "approved" }], false, "none"],
  [
    "one approves, one doesn't",
    [
      { author: "mira", state: "approved" },
      { author: "otto", state: "changes-requested" },
    ],
    false,
    "changes-requested",
  ],
])("comes to one review: %s", (_, opinions, needsApproval, review) => {
  expect(judged({ opinions, needsApproval }).review).toBe(review);
});

it.each<[Partial<PullFacts>, mergeable: boolean | null, blockedBy: string | null]>([
  [{}, true, null],
  [{ mergeState: "unstable" }, true, null],
  [{ isMergeable: null, mergeState: "unknown" }, null, null],
  [{ isMergeable: false, mergeState: "dirty", isDraft: true }, false, "conflicts"],
  [{ isDraft: true, mergeState: "draft" }, false, "draft"],
  [{ mergeState: "behind" }, false, "behind"],
  [{ mergeState: "blocked", checks: [check("a", "pending")] }, false, "checks"],
  [{ mergeState: "blocked" }, false, "reviews"],
  [{ mergeState: "blocked", opinions: [{ author: "mira", state: "approved" }] }, false, "other"],
  [{ state: "merged", mergeState: "blocked" }, null, null],
])("says why it can't be merged: %j", (over, mergeable, blockedBy) => {
  expect(judged(over)).toMatchObject({ mergeable, blockedBy });
});

it("keeps what is known of a commit until the host has found out again, and not for long", () => {
  const unknown = judged({ isMergeable: null, mergeState: "unknown" });
  const job = (unknowns: number) => ({
    jobId: "job-1",
    projectId: "docs",
    branchPrefix: "docs-agent/",
    link: unknown.url,
    beganAt: 0,
    lookAt: 0,
    memory: FollowMemory.parse({ unknowns }),
    record: judged({ isMergeable: false, mergeState: "dirty" }),
  });
  const after = (record: typeof unknown, unknowns: number) =>
    afterSeen(job(unknowns), { record, updatedAt: 0, listedAt: 0 }, { nowMs: 1, pollMs: 60_000 }).record;
  expect(after(unknown, 0)).toMatchObject({ mergeable: false, blockedBy: "conflicts" });
  expect(after(unknown, 5)).toMatchObject({ mergeable: null, blockedBy: null });
  expect(after({ ...unknown, headSha: "def" }, 0)).toMatchObject({ mergeable: null, blockedBy: null });
});

it("counts required checks only, where the host says which are, and none that failed before", () => {
  const checks = [check("a", "failed", false), check("b", "failed", true), check("c", "failed", true)];
  expect(judged({ checks }, ["c"]).checks).toEqual({ state: "failed", failed: ["b"] });
  expect(judged({ checks: [check("a", "failed", false)] }).checks).toEqual({
    state: "failed",
    failed: ["a"],
  });
  expect(judged({ checks: [...checks.slice(2), check("d", "pending", true)] }, ["c"]).checks.state).toBe(
    "pending",
  );
  expect(judged({ checks: null }).checks).toEqual({ state: "unknown", failed: [] });
});

it("keeps a bounded part of what others write, with nothing in it that changes how the rest reads", () => {
  const words = `<@U1> <!channel> https://evil.example \u202etxt\u2066 ${"ä😀".repeat(20_000)}`;
  const time = "2026-01-05T00:00:00Z";
  const look = toLook(
    {
      number: 7,
      html_url: "https://github.com/acme/docs/pull/7",
      title: words,
      state: "open",
      created_at: time,
      updated_at: time,
      headRef: "docs-agent/a",
      headSha: words,
      baseRef: "main",
      opinions: [],
      reviews: Array.from({ length: 5000 }, (_, id) => ({
        id,
        state: "COMMENTED",
        user: { login: `mira\u202e${id}` },
        body: words,
        submitted_at: time,
        commit_id: words,
      })),
      requested: Array.from({ length: 500 }, (_, index) => ({
        requestedReviewer: { login: `${index}${"x".repeat(10_000)}` },
      })),
    },
    Array.from({ length: 200 }, (_, index) => check(`\u2067${index}${"y".repeat(10_000)}`, "failed")),
  );
  if (look === "unreadable") throw new Error(look);
  const record = toFollowed(look, new Set());
  expect(FollowedPullRequest.strict().parse(z.encode(FollowedPullRequest, record))).toEqual(record);
  expect(JSON.stringify(record).length).toBeLessThan(64 * 1024);
  expect(JSON.stringify(record)).not.toMatch(/[\u202e\u2066\u2067]/);
  expect(record.reviews).toHaveLength(20);
  expect(record.reviews.at(-1)).toMatchObject({ id: "4999", author: "mira4999" });
  expect(record.reviews.every(({ words: kept }) => kept.isWellFormed() && kept.length <= 1000)).toBe(true);
});
