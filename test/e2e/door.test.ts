// @module-tag all

import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, askedFor, done } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

/** Delivers an event about a message that somebody wrote, like the ones that Slack sends. */
async function deliver(world: World, { delivery }: { delivery: unknown }, fields: object): Promise<void> {
  const sent = delivery as { body: string } & Parameters<World["slack"]["redeliver"]>[0];
  const body = JSON.parse(sent.body) as { event: object };
  const changed = { ...sent, body: JSON.stringify({ ...body, event: { ...body.event, ...fields } }) };
  expect((await world.slack.redeliver(changed, { resign: true })).status).toBe(200);
  await world.settle();
}

/** A mention in #docs that the app hasn't heard of yet, and an event to deliver it with. */
async function unheard(world: World, text: string, thread?: SlackMessage) {
  const { bot } = world.slack.workspace;
  const { delivery } = await world.slack.person(BEN).mention({ channel: DOCS, text: "help" });
  const typed = `<@${bot.userId}> ${text}`;
  const place = { channel: DOCS, ...(thread === undefined ? {} : { threadTs: thread.ts }) };
  const message = world.slack.workspace.say({ ...place, user: ANA, text: typed });
  const fields = { user: ANA, text: typed, ts: message.ts, event_ts: message.ts, blocks: undefined };
  return { delivery, message, fields: { ...fields, thread_ts: thread?.ts } };
}

const GUEST = "U0GUS";
const AS_MESSAGE = { type: "message", channel_type: "channel" };
const AS_MENTION = { type: "app_mention", channel_type: undefined };

describe("a mention", () => {
  it.each([
    ["as a message of a channel alone", [AS_MESSAGE]],
    ["as a message of a private channel", [{ ...AS_MESSAGE, channel_type: "group" }]],
    ["as both", [AS_MESSAGE, AS_MENTION]],
    ["as both, the other way round, and again", [AS_MENTION, AS_MESSAGE, AS_MENTION]],
    ["with files", [{ ...AS_MESSAGE, subtype: "file_share" }, AS_MENTION]],
  ])("that arrives %s is one request", async (_how, events) => {
    await using world = await World.start();
    const { delivery, fields } = await unheard(world, "fix the FAQ");
    for (const event of events) await deliver(world, { delivery }, { ...fields, ...event });
    await world.pass(MINUTE_MS);
    expect(world.service.creates.map(askedFor)).toEqual(["fix the FAQ"]);
    expect(world.slack.ephemerals(ANA)).toEqual([]);
  });

  it("in a reply that was also sent to the channel is one follow-up", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const root = await done(world);
    const { delivery, fields } = await unheard(world, "and the FAQ", root);
    const also = { ...fields, subtype: "thread_broadcast", root: { ts: root.ts } };
    await deliver(world, { delivery }, { ...also, ...AS_MESSAGE });
    await deliver(world, { delivery }, { ...also, ...AS_MENTION });
    await world.pass(MINUTE_MS);
    expect(world.service.messages.map(askedFor)).toEqual(["and the FAQ"]);
    expect(world.service.creates).toHaveLength(1);
  });

  it("by a guest is refused however it arrives, once", async () => {
    await using world = await World.start();
    world.slack.workspace.addUser({ id: GUEST, name: "gus", guest: "multi-channel" });
    world.slack.workspace.invite(DOCS, GUEST);
    const { delivery, fields } = await unheard(world, "fix the FAQ");
    for (const event of [AS_MESSAGE, AS_MENTION]) {
      await deliver(world, { delivery }, { ...fields, ...event, user: GUEST });
    }
    await world.pass(MINUTE_MS);
    expect(world.service.creates).toEqual([]);
    expect(world.slack.ephemerals(GUEST).map((shown) => world.slack.visibleText(shown))).toEqual([
      "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.",
    ]);
  });
});

describe("a group direct message", () => {
  it("is a request if it mentions the app, and its thread goes on like a channel's", async () => {
    await using world = await World.start();
    const { slack, service } = world;
    const group = slack.workspace.openDirectMessage([ANA, BEN]).id;
    await slack.person(BEN).say({ channel: group, text: "the FAQ is wrong" });
    const { message } = await slack.person(ANA).mention({ channel: group, text: "fix the FAQ" });
    await world.until(() => service.creates.length === 1);
    await world.until(() => world.replies(group, message.ts).length === 1);
    await slack.person(BEN).mention({ channel: group, threadTs: message.ts, text: "and the glossary" });
    await world.until(() => service.messages.length === 1);
    expect(service.creates.map(askedFor)).toEqual(["fix the FAQ"]);
    expect(service.messages.map(askedFor)).toEqual(["and the glossary"]);
    await slack.person(ANA).mention({ channel: group, text: "list channel" });
    await world.until(() => slack.ephemerals(ANA).length === 1);
    expect(slack.visibleText(slack.ephemerals(ANA)[0]!)).toContain("fix the FAQ");
    expect(world.logger.text("warn")).toBe("");
  });

  it("isn't heard without its scopes, and nothing says so", async () => {
    await using world = await World.start({ withoutScopes: ["mpim:history", "mpim:read"] });
    const group = world.slack.workspace.openDirectMessage([ANA, BEN]).id;
    await world.slack.person(ANA).mention({ channel: group, text: "fix the FAQ" });
    await world.pass(MINUTE_MS);
    expect(world.service.creates).toEqual([]);
    expect(world.logger.text("warn")).toBe("");
  });
});

describe("FOLLOW_UPS=requester", () => {
  it("takes a reply that was also sent to the channel", async () => {
    await using world = await World.start({
      jobService: { level: 1 },
      env: { FOLLOW_UPS: "requester" },
    });
    const root = await done(world);
    const plain = await world.slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: "ok" });
    const also = { subtype: "thread_broadcast", root: { ts: root.ts }, blocks: undefined };
    await deliver(world, plain, { ...also, text: "and the index", ts: "1800000000.000100" });
    await world.pass(MINUTE_MS);
    expect(world.service.messages.map(askedFor)).toEqual(["and the index"]);
  });
});

it.each([
  ["an app or a workflow wrote it", { bot_id: "B0WORKFLOW", subtype: "bot_message", user: undefined }],
  ["an app or a workflow wrote it", { bot_id: "B0OTHER", app_id: "A0OTHER" }],
  ["it was edited", { edited: { user: ANA, ts: "1.1" } }],
  ["Slack wrote it", { user: "USLACKBOT" }],
  ["it is of the kind channel_join", { subtype: "channel_join" }],
])("what isn't a person's new message leaves one line for whoever looks: %s", async (reason, odd) => {
  await using world = await World.start();
  const { delivery, fields } = await unheard(world, "fix the FAQ");
  await deliver(world, { delivery }, { ...fields, ...AS_MENTION, ...odd });
  await world.pass(MINUTE_MS);
  const lines = world.logger.lines.filter(({ message }) => message === "a message to the app is ignored");
  expect(lines.map(({ level, fields: told }) => [level, "reason" in told && told.reason])).toEqual([
    ["debug", reason],
  ]);
  expect(world.service.creates).toEqual([]);
});
