import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { SlackDelivery } from "../../world/slack/index.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

/** Sends the same bytes 50 times at once, restarts, and sends them 50 times again. */
async function repeat(world: World, delivery: SlackDelivery): Promise<void> {
  const times = Array.from({ length: 50 });
  const answers = await Promise.all(times.map(() => world.slack.redeliver(delivery)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  await world.pass(3_600_000);
  await world.stopApp();
  await world.startApp();
  const url = `${world.appUrl}/slack/events`;
  const again = await Promise.all(times.map(() => world.slack.redeliver({ ...delivery, url })));
  expect(again.every(({ status }) => status === 200)).toBe(true);
  await world.pass(3_600_000);
}

describe("the same thing 50 times at once, and again after a restart, is one job", () => {
  it("for a command", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const { delivery } = await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await repeat(world, delivery);
    expect(world.service.creates).toHaveLength(1);
    expect(world.slack.messages(DOCS)).toHaveLength(2);
  });

  it("for a sent form", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const message = world.slack.workspace.say({ channel: DOCS, user: BEN, text: "the FAQ is wrong" });
    await world.slack
      .person(ANA)
      .shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: message.ts });
    const { delivery } = await world.slack.person(ANA).submit({ viewId: (await world.form(ANA)).id });
    await repeat(world, delivery);
    expect(world.service.creates).toHaveLength(1);
    expect(world.replies(DOCS, message.ts)).toHaveLength(2);
  });

  it("for a mention, also under another event id", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const { delivery, message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
    if (delivery === undefined) throw new Error("the bot is not in the channel");
    await repeat(world, delivery);
    const body = delivery.body.replace(/"event_id":"[^"]+"/, '"event_id":"Ev0OTHER"');
    expect(body).not.toBe(delivery.body);
    const url = `${world.appUrl}/slack/events`;
    expect((await world.slack.redeliver({ ...delivery, url, body }, { resign: true })).status).toBe(200);
    await world.pass(3_600_000);
    expect(world.service.creates).toHaveLength(1);
    expect(world.replies(DOCS, message.ts)).toHaveLength(2);
  });

  it("for a press of Try again", async () => {
    await using world = await World.start();
    world.service.script.endAfterPolls(1, () => ({ status: "failed" }));
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const failed = await world.until(() => world.slack.messages(DOCS)[1]);
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const press = { channel: DOCS, messageTs: failed.ts, actionId: "try_again" };
    const { delivery } = await world.slack.person(ANA).click(press);
    await world.until(() => world.service.creates.length === 2);
    await repeat(world, delivery);
    expect(world.service.creates).toHaveLength(2);
  });
});

describe("Keep watching", () => {
  const env = { JOB_DEADLINE_MS: "600000" };

  it("after the deadline watches the job again, once, and says how it ends", async () => {
    await using world = await World.start({ env });
    const { slack, service } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const expired = await world.until(() => slack.messages(DOCS)[1], 3_600_000);
    expect(slack.visibleText(expired)).toContain("Not done after 10 min");
    await world.until(() => world.read(DOCS)[0]?.includes("Not done after 10 min"));
    const polls = service.gets.length;
    await world.pass(3_600_000);
    expect(service.gets).toHaveLength(polls);

    const press = { channel: DOCS, messageTs: expired.ts, actionId: "keep_watching" };
    await slack.person(BEN).click(press);
    await slack.person(ANA).click(press);
    await world.until(() => service.gets.length > polls);
    await world.until(() => world.read(DOCS)[0]?.includes("The agent is working"));
    const [job] = service.creates;
    service.finish(job?.jobId ?? "", { status: "completed", prLink: PR });
    await world.pass(7_200_000);
    expect(world.read(DOCS)).toHaveLength(3);
    expect(world.read(DOCS)[2]).toContain("@Ana Your pull request is ready");
    expect(service.creates).toHaveLength(1);
    await slack.until(() => slack.ephemerals(ANA).length === 1);
    expect(slack.visibleText(slack.ephemerals(ANA)[0] ?? expired)).toContain("already watching");
  });

  it("can be pressed again when that watch ends without a result, too", async () => {
    await using world = await World.start({ env });
    const { slack } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    for (const count of [1, 2, 3]) {
      const expired = await world.until(() => slack.messages(DOCS)[count], 3_600_000);
      expect(slack.visibleText(expired)).toContain("[Keep watching]");
      await slack.person(ANA).click({ channel: DOCS, messageTs: expired.ts, actionId: "keep_watching" });
    }
  });
});

it("an app that was down past the deadline says so and offers to keep watching", async () => {
  await using world = await World.start();
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => world.service.gets.length === 1);
  await world.stopApp();
  world.clock.advance(48 * 3_600_000);
  await world.startApp();
  const expired = await world.until(() => world.slack.messages(DOCS)[1]);
  expect(world.slack.visibleText(expired)).toContain("[Keep watching]");
  // Twice more: it might have ended meanwhile, and the clock might be wrong for a moment.
  expect(world.service.gets).toHaveLength(3);
});

it("a request that cannot be stored is refused at once, and never half taken", async () => {
  await using world = await World.start();
  // Another program holds the file, as a careless backup would.
  const other = new DatabaseSync(world.storePath);
  other.exec("BEGIN IMMEDIATE");
  const sent = await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  expect(sent.status).toBe(200);
  const [told] = world.slack.ephemerals(ANA);
  expect(told === undefined ? "" : world.slack.visibleText(told)).toContain("I couldn't save that");
  const mention = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix that" });
  // Not acknowledged, so that Slack delivers it again.
  expect(mention.status).toBe(500);
  other.exec("ROLLBACK");
  other.close();
  await world.pass(60_000);
  expect(world.service.calls).toEqual([]);
  if (mention.delivery !== undefined) await world.slack.redeliver(mention.delivery, { retryNum: 1 });
  await world.until(() => world.service.creates.length === 1);
  expect(world.service.creates[0]?.prompt).toBe("fix that");
});

it("ended requests and their jobs are kept for RETENTION_DAYS, and the thread's record goes after its last job", async () => {
  await using world = await World.start({ env: { RETENTION_DAYS: "30" } });
  world.service.script.completeAfterPolls(1, { prLink: PR });
  const parent = world.slack.workspace.say({ channel: DOCS, user: BEN, text: "the FAQ is wrong" });
  await world.slack.person(ANA).mention({ channel: DOCS, threadTs: parent.ts, text: "fix it" });
  await world.pass(10 * 86_400_000);
  await world.slack.person(ANA).mention({ channel: DOCS, threadTs: parent.ts, text: "new: fix that" });
  await world.pass(3_600_000);
  const [, second] = world.service.creates;

  const records = () => {
    const db = new DatabaseSync(world.storePath, { readOnly: true });
    const rows = db.prepare("SELECT key, value FROM kv WHERE key NOT LIKE 'probe:%' ORDER BY key").all();
    db.close();
    return new Map(rows.map(({ key, value }) => [String(key), String(value)]));
  };
  const threadOf = () => [...records()].find(([key]) => key.startsWith("thread:"))?.[1] ?? "";
  const keysOf = (kind: string) => [...records().keys()].filter((key) => key.startsWith(`${kind}:`));
  const turnIds = keysOf("turn").map((key) => key.slice("turn:".length));
  expect(threadOf()).toContain(JSON.stringify(turnIds));
  expect(keysOf("job")).toHaveLength(2);
  expect(keysOf("turn")).toHaveLength(2);

  await world.pass(20 * 86_400_000);
  expect(keysOf("job")).toEqual([`job:${world.service.baseUrl} docs ${second?.jobId}`]);
  expect(keysOf("turn")).toHaveLength(1);
  expect(threadOf()).toContain(turnIds[1]);
  await world.pass(20 * 86_400_000);
  // What a service announces is kept.
  expect([...records().keys()]).toEqual([`service:${world.service.baseUrl}`]);
});
