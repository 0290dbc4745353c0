import { describe, expect, it } from "vitest";
import type { SlackSide } from "../../world/slack/index.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
type Posted = ReturnType<SlackSide["messages"]>[number];

function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

async function press(world: World, userId: string, message: Posted, actionId: string): Promise<void> {
  const sent = await world.slack.person(userId).click({ channel: DOCS, messageTs: message.ts, actionId });
  expect(sent.status).toBe(200);
  await world.settle();
}

async function failedRequest(world: World): Promise<Posted> {
  world.service.script.endAfterPolls(1, () => ({ status: "failed" }));
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  const failed = await world.until(() => world.slack.messages(DOCS)[1]);
  expect(world.slack.visibleText(failed)).toContain("[Try again]");
  world.service.script.completeAfterPolls(1, { prLink: PR });
  return failed;
}

describe("Try again", () => {
  it.each([
    [8, {}],
    [89, { idempotencyKeys: true }],
    [8, OFFERS_EVERYTHING],
  ])("works on day %i, and a second press says who did it (%o)", { tags: "all" }, async (day, jobService) => {
    await using world = await World.start({ jobService });
    const failed = await failedRequest(world);
    await world.pass(day * DAY_MS);
    await world.stopApp();
    await world.startApp();

    await press(world, BEN, failed, "try_again");
    await press(world, ANA, failed, "try_again");
    await world.slack.until(() => privately(world, ANA).length === 1);
    expect(privately(world, ANA)).toEqual([expect.stringContaining("@Ben already did that.")]);
    await press(world, BEN, failed, "try_again");
    await world.slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)).toEqual([expect.stringContaining("You already did that.")]);
    await world.pass(HOUR_MS);
    expect(world.service.creates.map(({ prompt }) => prompt)).toEqual(["fix it", "fix it"]);
    expect(world.read(DOCS)).toHaveLength(3);
    expect(world.read(DOCS)[2]).toContain("Your pull request is ready");
    // The root shows the newest state, with its link.
    expect(world.read(DOCS)[0]?.split("\n")).toEqual([
      "@Ana requested a docs change:",
      "fix it",
      "@Ben tried again:",
      `✅ acme/docs#7 (${PR})`,
    ]);

    // Also when the second request is as old as the ids of tasks that are done.
    await world.pass(10 * DAY_MS);
    if (day > 80) return;
    await press(world, ANA, failed, "try_again");
    await world.slack.until(() => privately(world, ANA).length === 2);
    expect(privately(world, ANA)[1]).toContain("@Ben");
    expect(world.service.creates).toHaveLength(2);
  });

  it("after RETENTION_DAYS says how long requests are kept, and starts nothing", async () => {
    await using world = await World.start({ env: { RETENTION_DAYS: "30" } });
    const failed = await failedRequest(world);
    await world.pass(31 * DAY_MS);
    await press(world, ANA, failed, "try_again");
    await world.slack.until(() => privately(world, ANA).length === 1);
    expect(privately(world, ANA)[0]).toContain("I keep requests for 30 days.");
    await world.pass(HOUR_MS);
    expect(world.service.creates).toHaveLength(1);
  });
});

it(
  "Try again, again and again, shows the newest state on the root, and can be stopped there",
  { tags: "all" },
  async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const failed = await failedRequest(world);
    world.service.script.endAfterPolls(1, () => ({ status: "failed" }));
    await press(world, BEN, failed, "try_again");
    const failedAgain = await world.until(() => world.slack.messages(DOCS)[2]);
    world.service.script.reset();
    await press(world, ANA, failedAgain, "try_again");
    await world.until(() => world.service.creates.length === 3);
    await world.until(() => world.read(DOCS)[0]?.includes("@Ana tried again:\n⏳ Starting…"));
    await world.stopApp();
    await world.startApp();
    const root = world.slack.messages(DOCS)[0];
    if (root === undefined) throw new Error("no root");
    await press(world, BEN, root, "stop_turn");
    await world.until(() => world.slack.messages(DOCS).length === 4);
    expect(world.read(DOCS)[3]?.split("\n")[0]).toBe("⏹️ @Ben stopped the agent, @Ana.");
    await world.until(() => world.read(DOCS)[0]?.endsWith("@Ana tried again:\n⏹️ Stopped"));
    expect(world.read(DOCS)[0]).not.toMatch(/❌|@Ben/);
  },
);

it(
  "Try again has a status message of its own where Slack doesn't let the root be updated",
  { tags: "all" },
  async () => {
    await using world = await World.start();
    world.slack.faults.add({
      method: "chat.update",
      times: 20,
      fault: { kind: "error", error: "message_not_found" },
    });
    const failed = await failedRequest(world);
    await world.pass(60_000);
    await press(world, BEN, failed, "try_again");
    await world.until(() => world.slack.messages(DOCS).length === 4);
    expect(world.read(DOCS)[2]).toContain("@Ben tried again:");
  },
);

describe("the Keep watching button of an earlier watch", { tags: "all" }, () => {
  const env = { JOB_DEADLINE_MS: String(HOUR_MS) };

  async function expiredTwice(world: World): Promise<[Posted, Posted]> {
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const first = await world.until(() => world.slack.messages(DOCS)[1], 2 * HOUR_MS);
    await press(world, ANA, first, "keep_watching");
    const second = await world.until(() => world.slack.messages(DOCS)[2], 2 * HOUR_MS);
    return [first, second];
  }

  it("watches the job again when the later watch has ended without a result, too", async () => {
    await using world = await World.start({ env });
    const [first] = await expiredTwice(world);
    const polls = world.service.gets.length;
    await press(world, BEN, first, "keep_watching");
    await world.until(() => world.service.gets.length > polls);
    expect(privately(world, BEN)).toEqual([]);
    world.service.finish(world.service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await world.until(() => world.read(DOCS).length === 4);
    expect(world.read(DOCS)[3]).toContain("Your pull request is ready");
  });

  it("loses no outcome that Slack has not taken yet", async () => {
    await using world = await World.start({ env });
    const first = (await expiredTwice(world))[0];
    await press(world, ANA, first, "keep_watching");
    world.slack.faults.add({
      method: "chat.postMessage",
      times: 3,
      fault: { kind: "ratelimited", retryAfterS: 60 },
    });
    await world.pass(HOUR_MS + 90_000);
    await press(world, BEN, first, "keep_watching");
    await world.slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)[0]).toContain("I'll post it here in a moment.");
    await world.pass(10 * 60_000);
    expect(world.read(DOCS)).toHaveLength(4);
    expect(world.read(DOCS)[3]).toContain("[Keep watching]");
  });

  it("says so when the job is being watched already", async () => {
    await using world = await World.start({ env });
    const [first, second] = await expiredTwice(world);
    await press(world, ANA, second, "keep_watching");
    await press(world, BEN, first, "keep_watching");
    await world.slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)[0]).toContain("already watching");
    await world.pass(2 * HOUR_MS);
    expect(world.read(DOCS)).toHaveLength(4);
  });

  it("says so when the later watch has seen the job end", async () => {
    await using world = await World.start({ env });
    const [first, second] = await expiredTwice(world);
    world.service.finish(world.service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await press(world, ANA, second, "keep_watching");
    await world.until(() => world.read(DOCS).length === 4);
    const polls = world.service.gets.length;
    await press(world, BEN, first, "keep_watching");
    await world.slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)[0]).toContain("already finished");
    await world.pass(2 * HOUR_MS);
    expect(world.service.gets).toHaveLength(polls);
    expect(world.read(DOCS)).toHaveLength(4);
  });
});

it.each([-1, 0, 1])(
  "Keep watching, pressed %i ms after the request is no longer kept, either watches to the end or says why not",
  { tags: "all" },
  async (afterMs) => {
    await using world = await World.start({ env: { JOB_DEADLINE_MS: String(HOUR_MS), RETENTION_DAYS: "1" } });
    const { slack, service, clock } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const expired = await world.until(() => slack.messages(DOCS)[1], 2 * HOUR_MS);
    await world.settle();
    // It is kept for a day after its end, which the outcome's message followed in the same millisecond.
    const endedAt = clock.now();
    clock.advanceTo(endedAt + DAY_MS + afterMs);
    await slack.person(ANA).click({ channel: DOCS, messageTs: expired.ts, actionId: "keep_watching" });
    const polls = service.gets.length;
    await world.pass(HOUR_MS / 2);
    service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await world.pass(2 * HOUR_MS);
    if (afterMs < 0) {
      expect(privately(world, ANA)).toEqual([]);
      expect(world.read(DOCS)).toHaveLength(3);
      expect(world.read(DOCS)[2]).toContain("Your pull request is ready");
      // Kept for another day, and its job with it.
      await world.pass(DAY_MS - 3 * HOUR_MS);
      await press(world, ANA, expired, "keep_watching");
      await slack.until(() => privately(world, ANA).length === 1);
      expect(privately(world, ANA)[0]).toContain("already finished");
    } else {
      expect(privately(world, ANA)).toEqual([expect.stringContaining("I keep requests for 1 day.")]);
      expect(service.gets).toHaveLength(polls);
      expect(world.read(DOCS)).toHaveLength(2);
    }
    expect(world.logger.text("error")).toBe("");
    expect(slack.dm(ANA)).toEqual([]);
  },
);
