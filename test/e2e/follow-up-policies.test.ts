import { describe, expect, it } from "vitest";
import type { SlackDelivery, SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, SENT, ask, done, jobOf, reply, said, askedFor } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../support/world.ts";

type Policy = "mention" | "ask" | "requester";

function start(policy: Policy, withoutScopes: string[] = []): Promise<World> {
  return World.start({ jobService: { level: 1 }, env: { FOLLOW_UPS: policy }, withoutScopes });
}

/** A reply that mentions nobody, unless its text does. */
async function say(world: World, root: SlackMessage, who: string, text: string) {
  const outcome = await world.slack.person(who).say({ channel: DOCS, threadTs: root.ts, text });
  await world.settle();
  return outcome;
}

function questions(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((shown) => world.slack.visibleText(shown));
}

async function press(world: World, userId: string, actionId: string): Promise<SlackDelivery> {
  const question = world.slack.ephemerals(userId)[0];
  const click = { channel: DOCS, messageTs: question?.ts ?? "", ephemeral: true, actionId };
  const sent = await world.slack.person(userId).click(click);
  expect(sent.status).toBe(200);
  await world.settle();
  return sent.delivery;
}

const ASKED = "Is this for the agent?\n[Send it] [Ignore]";

describe.each<Policy>(["mention", "ask", "requester"])("whatever the policy (%s)", (policy) => {
  it("a mention, which arrives as two events, is one follow-up", async () => {
    await using world = await start(policy);
    const root = await done(world);
    await reply(world, root, "and the FAQ", ANA);
    await world.pass(5 * MINUTE_MS);
    expect(world.service.messages.map(askedFor)).toEqual(["and the FAQ"]);
    expect(questions(world, ANA)).toEqual([]);
  });

  it("nothing starts by what is no reply of a person's in a job's thread", async () => {
    await using world = await start(policy);
    const { slack, service } = world;
    const root = await done(world);
    const { user } = slack.person(ANA);
    const other = slack.workspace.say({ channel: DOCS, user: user.id, text: "Lunch?" });
    await slack.person(ANA).say({ channel: DOCS, text: "the FAQ is wrong, too" });
    await slack.person(ANA).say({ channel: DOCS, threadTs: other.ts, text: "where?" });
    await say(world, root, ANA, `<@${BEN}> can you look at the FAQ?`);
    await say(world, root, ANA, "<!here> can you look at the FAQ?");
    const said = await say(world, root, policy === "requester" ? BEN : ANA, policy === "ask" ? " " : "hm");
    const { delivery } = said;
    if (delivery === undefined) throw new Error("the app hears nothing");
    const odd: Record<string, unknown>[] = [
      { subtype: "message_changed", user: ANA },
      { subtype: "channel_join", user: ANA },
      { user: ANA, bot_id: "B0OTHER", app_id: "A0OTHER" },
      { user: slack.workspace.bot.userId, bot_id: slack.workspace.bot.botId },
      { user: ANA, edited: { user: ANA, ts: "1.1" } },
      { user: ANA, thread_ts: undefined },
      { user: ANA, text: undefined, blocks: undefined },
      { user: undefined },
    ];
    for (const [n, fields] of odd.entries()) {
      const body = JSON.parse(delivery.body) as { event: object };
      const event = { ...body.event, text: "more", ts: `${1_800_000_000 + n}.000100`, ...fields };
      const sent = { ...delivery, body: JSON.stringify({ ...body, event }) };
      expect((await slack.redeliver(sent, { resign: true })).status).toBe(200);
    }
    await world.pass(5 * MINUTE_MS);
    expect([service.creates.length, service.messages]).toEqual([1, []]);
    expect(slack.ephemerals()).toEqual([]);
    expect(world.logger.text("error")).toBe("");
  });
});

describe("FOLLOW_UPS=mention", () => {
  it("leaves replies alone that don't mention the app", async () => {
    await using world = await start("mention");
    const root = await done(world);
    await say(world, root, ANA, "and the FAQ");
    await world.pass(5 * MINUTE_MS);
    expect(world.service.messages).toEqual([]);
    expect(questions(world, ANA)).toEqual([]);
  });
});

describe("FOLLOW_UPS=requester", () => {
  it("takes every reply of whoever asked for the thread's newest open request", async () => {
    await using world = await start("requester");
    const { service, slack } = world;
    const root = await done(world);
    const { delivery } = await say(world, root, ANA, "and the <FAQ> & more");
    await say(world, root, BEN, "nice!");
    await world.until(() => service.messages.length === 1);
    if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
    await world.until(() => said(world, root)[1]?.[0] === SENT);
    await reply(world, root, "new: fix the glossary");
    await world.until(() => service.creates.length === 2);
    // Ben's is the newest now.
    await say(world, root, ANA, "thanks");
    await say(world, root, BEN, "all of it");
    await world.pass(5 * MINUTE_MS);
    expect(service.messages.map(askedFor)).toEqual(["and the <FAQ> & more", "all of it"]);
    expect(slack.ephemerals()).toEqual([]);
  });

  it("refuses a mention by anybody else, privately and once; what they asked for themselves goes on", async () => {
    await using world = await start("requester");
    const { service, slack } = world;
    const root = await done(world);
    const { delivery } = await slack
      .person(BEN)
      .mention({ channel: DOCS, threadTs: root.ts, text: "and the FAQ" });
    if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
    await world.pass(5 * MINUTE_MS);
    const REFUSED = "Only @Ana can do that. For your own request, use `@docs-agent new: …`.";
    expect(questions(world, BEN)).toEqual([REFUSED]);
    expect(slack.ephemerals(BEN)[0]?.thread_ts).toBe(root.ts);
    expect([service.creates.length, service.messages.length]).toEqual([1, 0]);

    await reply(world, root, "new: fix the FAQ");
    await world.until(() => service.creates.length === 2);
    // Each has a job of their own in the thread.
    await reply(world, root, "and the glossary", ANA);
    await reply(world, root, "and its links", BEN);
    await world.until(() => service.messages.length === 2);
    const sent = service.messages.map((message) => [message.jobId, askedFor(message)]);
    expect(sent.toSorted()).toEqual([
      [jobOf(world, 0), "and the glossary"],
      [jobOf(world, 1), "and its links"],
    ]);
    expect(questions(world, BEN)).toEqual([REFUSED]);
    expect(questions(world, ANA)).toEqual([]);
  });

  it("refuses Try again under a follow-up by anybody else, and lets them steer that job by nothing else", async () => {
    await using world = await start("requester");
    const { service, slack } = world;
    const root = await done(world);
    await reply(world, root, "and the FAQ", ANA);
    await world.until(() => service.messages.length === 1);
    service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, root.ts)[2]);
    const again = { channel: DOCS, messageTs: failed.ts, actionId: "try_again" };
    expect((await slack.person(BEN).click(again)).status).toBe(200);
    await reply(world, root, "delete all pages", BEN);
    await world.pass(5 * MINUTE_MS);
    expect(service.messages.map(askedFor)).toEqual(["and the FAQ"]);
    const refused = "Only @Ana can do that. For your own request, use `@docs-agent new: …`.";
    expect(questions(world, BEN)).toEqual([refused, refused]);
    await slack.person(ANA).click(again);
    await world.until(() => service.messages.length === 2);
    expect(service.messages[1]?.jobId).toBe(jobOf(world));
  });

  it("lets anybody's mention start anew once the job is closed", async () => {
    await using world = await start("requester");
    const root = await ask(world);
    world.service.finish(jobOf(world), { status: "archived" });
    await world.until(() => said(world, root).length === 1);
    await reply(world, root, "fix the FAQ", BEN);
    await world.until(() => world.service.creates.length === 2);
    expect(questions(world, BEN)).toEqual([]);
  });

  it("takes none once the job is archived", async () => {
    await using world = await start("requester");
    const { service } = world;
    const root = await ask(world);
    service.finish(jobOf(world), { status: "archived" });
    await world.until(() => said(world, root).length === 1);
    await say(world, root, ANA, "what a pity");
    await world.pass(5 * MINUTE_MS);
    expect([service.creates.length, service.messages.length]).toEqual([1, 0]);
  });

  it("says privately where a reply is too long", async () => {
    await using world = await start("requester");
    const root = await done(world);
    await say(world, root, BEN, "x".repeat(4001));
    await say(world, root, ANA, "x".repeat(4001));
    await world.pass(MINUTE_MS);
    expect(world.service.messages).toEqual([]);
    expect(questions(world, ANA)).toEqual([expect.stringContaining("4,001 characters")]);
    expect(questions(world, BEN)).toEqual([]);
  });
});

describe("FOLLOW_UPS=ask", () => {
  it("asks whoever replies, alone, and sends it when they say so, once", async () => {
    await using world = await start("ask");
    const { service, slack } = world;
    const root = await done(world);
    const { delivery } = await say(world, root, BEN, "and the FAQ");
    if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
    await world.settle();
    expect(slack.ephemerals().map(({ user, thread_ts }) => [user, thread_ts])).toEqual([[BEN, root.ts]]);
    expect(questions(world, BEN)).toEqual([ASKED]);
    await world.pass(5 * MINUTE_MS);
    expect(service.messages).toEqual([]);

    await world.stopApp();
    await world.startApp();
    await press(world, BEN, "send_reply");
    await world.until(() => service.messages.length === 1);
    await slack.until(() => slack.ephemerals().length === 0);
    expect(service.messages[0]).toMatchObject({ jobId: jobOf(world), prompt: "and the FAQ" });
    service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => said(world, root).at(-1)?.[0]?.startsWith("✅ @Ben"));
    await world.pass(60 * MINUTE_MS);
    expect(service.messages).toHaveLength(1);
  });

  it("sends what the reply says after an edit, and nothing of one that was deleted", async () => {
    await using world = await start("ask");
    const { service, slack } = world;
    const root = await done(world);
    const { message } = await say(world, root, BEN, "my password is hunter2");
    const edit = { channel: DOCS, messageTs: message.ts, text: "and the <FAQ>" };
    await slack.person(BEN).edit(edit);
    await press(world, BEN, "send_reply");
    await world.until(() => service.messages.length === 1);
    expect(service.messages.map(askedFor)).toEqual(["and the <FAQ>"]);

    const { message: gone } = await say(world, root, ANA, "the key is sesame");
    const [changed] = await slack
      .person(ANA)
      .edit({ ...edit, messageTs: gone.ts, text: "the key is sesame!" });
    const payload = JSON.parse(changed?.delivery.body ?? "");
    Object.assign(payload.event, { subtype: "message_deleted", deleted_ts: gone.ts, message: undefined });
    if (changed === undefined) throw new Error("no event");
    await slack.redeliver({ ...changed.delivery, body: JSON.stringify(payload) }, { resign: true });
    await world.settle();
    await press(world, ANA, "send_reply");
    await slack.until(() => questions(world, ANA)[0] !== ASKED);
    expect(questions(world, ANA)).toEqual(["I no longer have that message. Send it again."]);
    await world.pass(5 * MINUTE_MS);
    expect(service.messages).toHaveLength(1);
  });

  it("forgets it when they ignore it", async () => {
    await using world = await start("ask");
    const root = await done(world);
    await say(world, root, ANA, "the FAQ is next");
    expect(questions(world, ANA)).toEqual([ASKED]);
    const { body, ...delivery } = await press(world, ANA, "ignore_reply");
    await world.slack.until(() => world.slack.ephemerals().length === 0);
    // Nobody else can say it for them.
    const other = body.replaceAll("ignore_reply", "send_reply").replaceAll(ANA, BEN);
    const sent = await world.slack.redeliver({ ...delivery, body: other }, { resign: true });
    expect(sent.status).toBe(200);
    await world.pass(5 * MINUTE_MS);
    expect(world.service.messages).toEqual([]);
  });

  it("says so where the button is pressed after a day", { tags: "all" }, async () => {
    await using world = await start("ask");
    const root = await done(world);
    await say(world, root, ANA, "and the FAQ");
    await world.pass(25 * 60 * MINUTE_MS);
    await press(world, ANA, "send_reply");
    await world.slack.until(() => questions(world, ANA)[0] !== ASKED);
    expect(questions(world, ANA)).toEqual(["I no longer have that message. Send it again."]);
    expect(world.service.messages).toEqual([]);
  });
});

it("an app that isn't in the channel hears nothing there", async () => {
  await using world = await start("ask");
  const { delivery } = await world.slack.person(ANA).say({ channel: RANDOM, text: "hello" });
  expect(delivery).toBeUndefined();
});

it.each<[Policy, string[], number]>([
  ["mention", ["channels:history"], 0],
  ["requester", ["channels:history"], 1],
  ["ask", ["channels:history", "groups:history"], 1],
  ["ask", [], 0],
])(
  "FOLLOW_UPS=%s without the scopes %j is logged once: %i",
  { tags: "all" },
  async (policy, without, times) => {
    await using world = await start(policy, without);
    const { slack } = world;
    const root = await ask(world);
    await world.pass(10 * MINUTE_MS);
    await fetch(`${world.appUrl}/readyz`);
    await slack.until(() => slack.calls.filter(({ method }) => method === "auth.test").length > 1);
    const logged = world.logger.lines.filter(({ message }) => message.startsWith("FOLLOW_UPS"));
    expect(logged).toHaveLength(times);
    // A mention works all the same.
    await reply(world, root, "and the FAQ", ANA);
    await world.until(() => world.service.messages.length === 1);
  },
);
