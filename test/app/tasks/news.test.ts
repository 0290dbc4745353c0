import { expect, it } from "vitest";
import { posted, type Delivery } from "../../../src/app/rules/turn/delivery.ts";
import { GROUP_MS } from "../../../src/app/rules/turn/pull-request-news.ts";
import { withPullRequest } from "../../../src/app/rules/turn/reported-pull-request.ts";
import type { KnownPullRequest } from "../../../src/app/rules/known-job.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import { newsTasks } from "../../../src/app/rules/decisions/new-tasks.ts";
import { news } from "../../../src/app/tasks/news.ts";
import { makeFollowed, makeOutcome, makeTurn } from "../../support/builders.ts";
import { notSent, TaskRig } from "./setup.ts";

const URL = "https://github.com/acme/docs/pull/7";
const DAY = 86_400_000;

/** An ended turn whose thread has its link, and whose pull request stands like this. */
async function followed(rig: TaskRig, ...reports: Partial<KnownPullRequest>[]): Promise<Turn> {
  const now = rig.clock.now();
  const at = { url: URL, linkedAt: now, now };
  const turn = makeTurn({
    stage: { name: "ended", outcome: makeOutcome({ kind: "pull-request" }), at: now },
  });
  const linked = ["status", "outcome-1"].reduce<Delivery>(
    (delivery, slot) => posted(delivery, slot, { channelId: "C1", ts: "1.0" }),
    { ...turn.delivery, threadTs: "1.0" },
  );
  const saved: Turn = {
    ...turn,
    delivery: linked,
    pullRequest: reports.reduce<Turn["pullRequest"]>(
      (known, report) => withPullRequest(known, makeFollowed(report), at),
      undefined,
    ),
  };
  await rig.save(saved);
  return saved;
}

/** Runs the task until it is over or waits for more than `patienceMs`. */
async function run(rig: TaskRig, turn: Turn, overrides = {}, patienceMs = GROUP_MS): Promise<string> {
  const [added] = newsTasks(turn);
  if (added === undefined) return "none";
  let { payload } = added;
  for (;;) {
    const end = await rig.carryOut(await news(rig.deps, rig.task({ ...added, payload }, overrides)));
    if (end.kind === "done" || end.kind === "dead" || end.kind === "retry") return end.kind;
    if (end.dueAt - rig.clock.now() > patienceMs) return "waits";
    if (end.payload !== undefined) payload = end.payload;
    rig.clock.advanceTo(Math.max(end.dueAt, rig.clock.now()));
  }
}

function review(id: string): KnownPullRequest["reviews"][number] {
  return { id, author: "maria", words: "No.", state: "changes-requested", at: null, headSha: null };
}

function kinds({ slack }: TaskRig): string[] {
  return slack.posts.map(({ message }) => (message.kind === "news" ? message.news.kind : message.kind));
}

it("tells all news once, in order, in the thread, also if it runs again", async () => {
  await using rig = await TaskRig.open();
  const failed = { checks: { state: "failed" as const, failed: ["links"] } };
  const turn = await followed(rig, { reviews: [review("1")] }, failed, { state: "merged" });
  // The reviews don't wait for others once there is something to tell after them.
  expect(await run(rig, turn, {}, 10_000)).toBe("done");
  expect(await run(rig, turn)).toBe("done");
  expect(kinds(rig)).toEqual(["changes-requested", "checks-failed", "merged"]);
  expect(rig.slack.posts.map(({ place }) => place.threadTs)).toEqual(["1.0", "1.0", "1.0"]);
});

it("says nothing before the link is there", async () => {
  await using rig = await TaskRig.open();
  const turn = await followed(rig, { state: "merged" });
  expect(newsTasks({ ...turn, delivery: { ...turn.delivery, slots: {} } })).toEqual([]);
});

it("waits for more reviews, and what it sends is closed before", async () => {
  await using rig = await TaskRig.open();
  const turn = await followed(rig, { reviews: [review("1")] });
  expect(await run(rig, turn, {}, GROUP_MS - 1)).toBe("waits");
  rig.slack.faults.post = [notSent];
  expect(await run(rig, turn)).toBe("retry");
  expect((await rig.saved(turn)).pullRequest?.news[0]).toMatchObject({ isClosed: true });
  expect(kinds(rig)).toEqual([]);
  rig.clock.advanceTo(rig.clock.now() + GROUP_MS);
  expect(await run(rig, turn)).toBe("done");
  expect(kinds(rig)).toEqual(["changes-requested"]);
  expect(JSON.stringify((await rig.saved(turn)).pullRequest)).not.toContain("No.");
});

it("leaves out what Slack didn't take for a day, quietly, and tells the rest", async () => {
  await using rig = await TaskRig.open();
  const turn = await followed(rig, { reviews: [review("1")] }, { state: "merged" });
  rig.slack.faults.post = [notSent];
  const old = { attempt: 30, addedAt: rig.clock.now() };
  rig.clock.advanceTo(rig.clock.now() + 2 * DAY);
  expect(await run(rig, turn, old)).toBe("done");
  expect(kinds(rig)).toEqual(["merged"]);
  expect(rig.added).toEqual([]);
});
