import { describe, expect, it } from "vitest";
import { INTERNAL_APP } from "../../world/slack/index.ts";
import type { SlackSide } from "../../world/slack/index.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

function outcomes(world: World, channelId: string): ReturnType<SlackSide["messages"]> {
  return world.slack
    .messages(channelId)
    .filter(({ metadata }) => String(metadata?.event_payload["post"]).startsWith("outcome"));
}

describe("requests of one person over the limit", () => {
  const env = { REQUESTS_PER_PERSON: "3" };

  it("are refused privately with the time, while another person goes on", async () => {
    await using world = await World.start({ env, startMs: Date.UTC(2026, 0, 5, 9) });
    const { slack, service } = world;
    for (let n = 1; n <= 5; n += 1) await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
    await slack.person(BEN).command({ channel: DOCS, text: "fix the FAQ" });
    await world.pass(10_000);

    // Three at once, then one every twenty minutes.
    expect(service.creates.map(({ prompt }) => prompt).toSorted()).toEqual([
      "fix page 1",
      "fix page 2",
      "fix page 3",
      "fix the FAQ",
    ]);
    expect(privately(world, ANA)).toEqual(
      [4, 5].map(
        () =>
          expect.stringContaining("You've reached the limit of 3 requests an hour. Try again at") as unknown,
      ),
    );
    expect(JSON.stringify(slack.ephemerals(ANA))).toContain("9:20");
    expect(privately(world, BEN).join()).not.toContain("the limit");

    await world.pass(20 * MINUTE_MS);
    await slack.person(ANA).command({ channel: DOCS, text: "fix page 4" });
    await world.pass(1000);
    expect(service.creates.map(({ prompt }) => prompt)).toContain("fix page 4");
  });

  it("are refused at the pace that Slack takes private answers", { tags: "nightly" }, async () => {
    await using world = await World.start({ env: { REQUESTS_PER_PERSON: "1" } });
    const { slack } = world;
    slack.faults.add({
      method: "chat.postEphemeral",
      times: Number.POSITIVE_INFINITY,
      fault: { kind: "ratelimited", retryAfterS: 30 },
    });
    for (let n = 0; n < 60; n += 1) await slack.person(ANA).mention({ channel: DOCS, text: `fix page ${n}` });
    await world.pass(10 * MINUTE_MS);
    const calls = slack.calls.filter(({ method }) => method === "chat.postEphemeral");
    // Twenty times Slack says when to come again. Some more are on their way when it does.
    expect(calls.length).toBeLessThan(20 * 15);
    slack.faults.clear();
    await world.pass(5 * MINUTE_MS);
    expect(privately(world, ANA)).toHaveLength(59);
  });

  it("are refused wherever they come from: a form keeps the text, a mention and a button answer privately", async () => {
    await using world = await World.start({ env: { REQUESTS_PER_PERSON: "1" } });
    const { slack, service } = world;
    service.script.endAfterPolls(1, () => ({ status: "failed" }));
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const failed = await world.until(() => outcomes(world, DOCS)[0]);

    await slack.person(ANA).command({ channel: DOCS });
    const form = await world.form(ANA);
    const values = { instructions: { instructions: "fix that" } };
    const sent = await slack.person(ANA).submit({ viewId: form.id, values });
    expect(sent.body).toContain("You've reached the limit of 1 request an hour");

    await slack.person(ANA).mention({ channel: DOCS, text: "fix this" });
    await world.pass(5_000);
    expect(privately(world, ANA)).toHaveLength(1);

    await slack.person(ANA).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    await slack.until(() => privately(world, ANA).length === 2);
    for (const text of privately(world, ANA)) expect(text).toContain("You've reached the limit");

    // The button was not used up.
    await world.pass(HOUR_MS);
    await slack.person(ANA).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    await world.until(() => service.creates.length === 2);
  });

  it.each([
    ["over HTTP", false],
    ["over one socket", true],
  ])(
    "do not count what Slack delivers again, not even at once, %s",
    { tags: "all" },
    async (_, socketMode) => {
      await using world = await World.start({ env, socketMode });
      const { slack, service } = world;
      const first = await slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
      await Promise.all(Array.from({ length: 10 }, () => slack.redeliver(first.delivery, { resign: true })));
      await slack.person(ANA).command({ channel: DOCS, text: "fix page two" });
      // A third one, ten times before any of them is accepted.
      const body = first.delivery.body.replace(/(trigger_id"?[=:]"?)[\w.]+/, "$11.2.third");
      expect(body).not.toBe(first.delivery.body);
      const third = { ...first.delivery, body };
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => slack.redeliver(third, { resign: true })),
      );
      expect(answers.filter((answer) => answer.status !== 200 || answer.body.includes("limit"))).toEqual([]);
      await world.pass(10_000);
      expect(service.creates).toHaveLength(3);
      const fourth = await slack.person(ANA).command({ channel: DOCS, text: "fix page four" });
      expect(fourth.body).toContain("You've reached the limit");
    },
  );
});

it("requests in one channel over the limit are refused privately with the time, while other channels go on", async () => {
  await using world = await World.start({ env: { REQUESTS_PER_CHANNEL: "2" } });
  const { slack, service } = world;
  const other = slack.workspace.addChannel({ name: "other", members: [ANA], withBot: true });
  await slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
  await slack.person(BEN).command({ channel: DOCS, text: "fix page two" });
  await slack.person(BEN).command({ channel: DOCS, text: "fix page three" });
  await slack.person(ANA).command({ channel: other.id, text: "fix page four" });
  await world.pass(10_000);
  expect(service.creates.map(({ prompt }) => prompt).toSorted()).toEqual([
    "fix page four",
    "fix page one",
    "fix page two",
  ]);
  expect(privately(world, BEN)).toEqual([
    expect.stringContaining("This channel has reached the limit of 2 requests an hour. Try again at"),
  ]);
  expect(privately(world, ANA)).toEqual([]);
});

it("a limit that was reached holds after a restart", { tags: "all" }, async () => {
  await using world = await World.start({ env: { REQUESTS_PER_PERSON: "1" } });
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.pass(10_000);
  await world.stopApp();
  await world.startApp();
  await slack.person(ANA).command({ channel: DOCS, text: "fix that" });
  await world.pass(10_000);
  expect(service.creates).toHaveLength(1);
});

it("limits of 0 take as many requests as come", { tags: "all" }, async () => {
  await using world = await World.start({ env: { REQUESTS_PER_PERSON: "0", REQUESTS_PER_CHANNEL: "0" } });
  // Not all at once: Slack waits only three seconds, and the machine may be busy.
  for (let n = 0; n < 120; n += 10) {
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        world.slack.person(ANA).command({ channel: DOCS, text: `fix page ${n + i}` }),
      ),
    );
  }
  await world.until(() => world.service.creates.length === 120);
  expect(privately(world, ANA)).toEqual([]);
});

describe("many requests, at Slack's own rates", () => {
  it(
    "thirty of them in one channel, are all answered in order, each outcome after its status message, and Slack never has to refuse a call",
    { tags: "all" },
    async () => {
      await using world = await World.start({
        slackLimits: { ...INTERNAL_APP, posts: { calls: 1, perMs: 1000 } },
      });
      const { slack, service } = world;
      service.script.completeAfterPolls(4, { prLink: PR });
      for (let n = 0; n < 30; n += 1) {
        await slack.person(n % 2 === 0 ? ANA : BEN).command({ channel: DOCS, text: `fix page ${n}.` });
      }
      await world.pass(HOUR_MS);

      const roots = slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
      expect(roots).toHaveLength(30);
      for (const [n, root] of roots.entries()) {
        expect(slack.visibleText(root)).toContain(`fix page ${n}.`);
        expect(slack.visibleText(root)).toContain("✅ acme/docs#");
        const replies = world.replies(DOCS, root.ts);
        expect(replies).toHaveLength(1);
        expect(Number(replies[0]?.ts)).toBeGreaterThan(Number(root.ts));
      }
      expect(slack.refusedCalls).toEqual([]);
    },
  );

  it(
    "in thirty channels at once, they make more updates than Slack takes in a minute, and none is refused",
    { tags: "nightly" },
    async () => {
      await using world = await World.start({ slackLimits: INTERNAL_APP });
      const { slack, service } = world;
      const channels = Array.from({ length: 30 }, (_, n) =>
        slack.workspace.addChannel({ name: `docs-${n}`, members: [ANA], withBot: true }),
      ).map(({ id }) => id);
      service.script.completeAfterPolls(4, { prLink: PR });
      for (const page of ["one", "two", "three"]) {
        for (const channel of channels)
          await slack.person(ANA).command({ channel, text: `fix page ${page}` });
      }
      await world.pass(HOUR_MS);
      expect(slack.refusedCalls).toEqual([]);
      expect(slack.calls.filter(({ method }) => method === "chat.update").length).toBeGreaterThan(90);
      for (const channel of channels) {
        expect(outcomes(world, channel)).toHaveLength(3);
        expect(world.read(channel).filter((text) => text.includes("acme/docs#"))).toHaveLength(6);
      }
    },
  );
});
