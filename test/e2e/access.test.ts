import { describe, expect, it } from "vitest";
import { MINUTE_MS, PR, ask, done, jobOf, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, SECRET_CHANNEL, World, type WorldOptions } from "../support/world.ts";

const HELP = "C0HELP";
const WRITERS = "S0WRITERS";
const WORDS = "the zebra page";
const OTHER_CHANNEL =
  "Sorry, I only take requests in #docs. To have this channel added, contact your Docs Agent admin.";
const NOT_IN_IT =
  "Sorry, I take direct messages only from people in #help. Join it, or contact your Docs Agent admin.";
const NOT_IN_GROUP =
  "Sorry, you aren't in a group that may use Docs Agent. Your message stays in Slack. If you need it, " +
  "contact your Docs Agent admin.";
const UNCHECKED =
  "I couldn't check whether you may use Docs Agent here. Try again in a minute. If it keeps happening, " +
  "contact your Docs Agent admin.";

/** A world in which only #docs may be used, or only by Ana's group. */
function start(env: Record<string, string>, options: WorldOptions = {}): Promise<World> {
  return World.start({
    ...options,
    env,
    prepare: ({ slack }) => {
      const { workspace } = slack;
      workspace.addChannel({ id: HELP, name: "help", members: [ANA], withBot: true });
      workspace.invite(SECRET_CHANNEL);
      workspace.invite(RANDOM);
      workspace.addGroup({ id: WRITERS, handle: "writers", name: "Writers", users: [ANA] });
    },
  });
}

function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((shown) => world.slack.visibleText(shown));
}

function direct(world: World, who: string, text: string) {
  const channel = world.slack.workspace.openDirectMessage([who]).id;
  return world.slack.person(who).say({ channel, text });
}

/** Waits for one private answer to a person, and longer, in case another one follows. */
async function told(world: World, userId: string): Promise<string[]> {
  await world.settle();
  await world.slack.until(() => privately(world, userId).length > 0);
  await world.pass(5 * MINUTE_MS);
  return privately(world, userId);
}

async function expectNothingTaken(world: World): Promise<void> {
  expect(world.service.calls.filter(({ op }) => op === "create" || op === "message")).toEqual([]);
  await world.stopApp();
  expect(await world.stored()).not.toContain("zebra");
}

const IN_A_CHANNEL: Record<string, (world: World, channel: string, who: string) => Promise<unknown>> = {
  "a command": (world, channel, who) => world.slack.person(who).command({ channel, text: WORDS }),
  "the form's command": (world, channel, who) => world.slack.person(who).command({ channel }),
  list: (world, channel, who) => world.slack.person(who).command({ channel, text: "list" }),
  "a mention": async (world, channel, who) => {
    const { delivery } = await world.slack.person(who).mention({ channel, text: WORDS });
    if (delivery !== undefined) await world.slack.redeliver(delivery, { retryNum: 1 });
  },
  "a shortcut": async (world, channel, who) => {
    const { ts } = world.slack.workspace.say({ channel, user: who, text: WORDS });
    await world.slack.person(who).shortcut({ callbackId: "fix_these_docs", channel, messageTs: ts });
    expect(world.slack.openViews(who)).toEqual([]);
  },
};

describe("ALLOW_CHANNELS", () => {
  it.each(Object.entries(IN_A_CHANNEL))("refuses other channels, once: %s", async (_, act) => {
    await using world = await start({ ALLOW_CHANNELS: DOCS });
    await act(world, RANDOM, ANA);
    expect(await told(world, ANA)).toEqual([OTHER_CHANNEL]);
    await expectNothingTaken(world);
  });

  it("takes requests, follow-ups and presses in its channels", async () => {
    await using world = await start({ ALLOW_CHANNELS: `${HELP}, ${DOCS}` });
    const root = await done(world);
    await reply(world, root, "and the FAQ", ANA);
    await world.until(() => world.service.messages.length === 1);
    expect(privately(world, ANA)).toEqual([]);
  });

  it("takes direct messages of people who are in one of its channels", async () => {
    await using world = await start({ ALLOW_CHANNELS: HELP });
    await direct(world, ANA, "fix the install page");
    await world.until(() => world.service.creates.length === 1);
    await direct(world, BEN, WORDS);
    expect(await told(world, BEN)).toEqual([NOT_IN_IT]);
    expect(world.service.creates).toHaveLength(1);
  });

  it("refuses direct messages while Slack doesn't say who is in its channels", async () => {
    await using world = await start({ ALLOW_CHANNELS: HELP });
    world.slack.faults.add({
      method: "users.conversations",
      times: 2,
      fault: { kind: "error", error: "internal_error" },
    });
    await direct(world, ANA, WORDS);
    expect(await told(world, ANA)).toEqual([UNCHECKED]);
    await direct(world, ANA, "fix the install page");
    await world.until(() => world.service.creates.length === 1);
  });

  it("that is set later leaves what runs its outcome, and Stop", async () => {
    const env: Record<string, string> = {};
    await using world = await start(env);
    const root = await ask(world);
    await world.slack.person(BEN).command({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => world.service.creates.length === 2);
    await world.stopApp();
    env["ALLOW_CHANNELS"] = HELP;
    await world.startApp();
    world.service.finish(jobOf(world, 0), { status: "completed", prLink: PR });
    await world.until(() => world.replies(DOCS, root.ts).length === 1);
    const other = world.slack.messages(DOCS).findLast(({ thread_ts: thread, ts }) => (thread ?? ts) === ts);
    const press = { channel: DOCS, messageTs: other?.ts ?? "", actionId: "stop_turn" };
    await world.slack.person(BEN).click(press);
    await world.until(() => world.read(DOCS).some((text) => text.includes("stopped")));
    expect([ANA, BEN].flatMap((who) => privately(world, who))).toEqual([]);
    await reply(world, root, WORDS, BEN);
    expect(await told(world, BEN)).toEqual([OTHER_CHANNEL.replace("#docs", "#help")]);
    expect(world.service.messages).toEqual([]);
  });

  it("is told to whoever may reply without a mention", async () => {
    const env: Record<string, string> = { FOLLOW_UPS: "requester" };
    await using world = await start(env);
    const root = await ask(world);
    await world.stopApp();
    env["ALLOW_CHANNELS"] = HELP;
    await world.startApp();
    await world.slack.person(BEN).say({ channel: DOCS, threadTs: root.ts, text: "I saw this, too" });
    await world.slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: WORDS });
    expect(await told(world, ANA)).toEqual([OTHER_CHANNEL.replace("#docs", "#help")]);
    expect(privately(world, BEN)).toEqual([]);
    expect(world.service.messages).toEqual([]);
  });
});

describe("ALLOW_GROUPS", () => {
  it.each(Object.entries(IN_A_CHANNEL))("refuses people in none: %s", { tags: "all" }, async (_, act) => {
    await using world = await start({ ALLOW_GROUPS: WRITERS });
    await act(world, DOCS, BEN);
    expect(await told(world, BEN)).toEqual([NOT_IN_GROUP]);
    await expectNothingTaken(world);
  });

  it("takes what its people ask for, and looks a group up once in five minutes", async () => {
    await using world = await start({ ALLOW_GROUPS: WRITERS });
    const looks = () => world.slack.calls.filter(({ method }) => method === "usergroups.users.list").length;
    const root = await done(world);
    await reply(world, root, "and the FAQ", ANA);
    await world.until(() => world.service.messages.length === 1);
    expect(looks()).toBe(1);
    await world.pass(6 * MINUTE_MS);
    await direct(world, ANA, "fix the glossary");
    await world.until(() => world.service.creates.length === 2);
    expect(looks()).toBe(2);
  });

  it("refuses a press of somebody who isn't in a group", async () => {
    await using world = await start({ ALLOW_GROUPS: WRITERS });
    const root = await ask(world);
    world.service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, root.ts)[0]);
    await world.slack.person(BEN).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    expect(await told(world, BEN)).toEqual([NOT_IN_GROUP]);
    expect(world.service.creates).toHaveLength(1);
  });

  it.each([
    ["an unknown group", { ALLOW_GROUPS: "S0NONE" }, {}],
    ["without usergroups:read", { ALLOW_GROUPS: WRITERS }, { withoutScopes: ["usergroups:read"] }],
  ])("lets nobody in where Slack doesn't say who is in it: %s", async (_, env, options) => {
    await using world = await start(env, options);
    await world.slack.person(ANA).mention({ channel: DOCS, text: WORDS });
    expect(await told(world, ANA)).toEqual([UNCHECKED]);
    await expectNothingTaken(world);
  });

  it("and ALLOW_CHANNELS both have to let somebody in", { tags: "all" }, async () => {
    await using world = await start({ ALLOW_GROUPS: WRITERS, ALLOW_CHANNELS: DOCS });
    await world.slack.person(ANA).command({ channel: RANDOM, text: WORDS });
    expect(await told(world, ANA)).toEqual([OTHER_CHANNEL]);
    await world.slack.person(BEN).command({ channel: DOCS, text: WORDS });
    expect(await told(world, BEN)).toEqual([NOT_IN_GROUP]);
    await expectNothingTaken(world);
  });
});
