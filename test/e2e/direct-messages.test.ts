import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, SENT, jobOf, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../support/world.ts";

/** The direct messages between a person and the app. */
function dmOf(world: World, userId = ANA): string {
  return world.slack.workspace.openDirectMessage([userId]).id;
}

/** What a person writes to the app there. */
async function write(world: World, text: string, thread?: SlackMessage, userId = ANA) {
  const said = await world.slack.person(userId).say({
    channel: dmOf(world, userId),
    text,
    ...(thread === undefined ? {} : { threadTs: thread.ts }),
  });
  expect(said.status).toBe(200);
  await world.settle();
  return said;
}

/** What the app says in a thread of those, line by line. */
function answers(world: World, { channel, ts }: SlackMessage): string[][] {
  return world.replies(channel, ts).map((message) => world.slack.visibleText(message).split("\n"));
}

/** What was typed; what of its thread goes along stands below. */
function firstLine({ prompt }: { prompt: string }): string {
  return prompt.split("\n", 1)[0] ?? "";
}

function prompts({ service }: World) {
  return {
    creates: service.creates.map(firstLine),
    messages: service.messages.map(firstLine),
  };
}

it("a message is a request, its thread is the job's, and a reply there a follow-up, each once", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const { slack, service } = world;
  const { message, delivery } = await write(world, "fix the <install> page & more");
  if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
  await world.until(() => answers(world, message).length === 1);
  service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
  await world.until(() => answers(world, message)[1]?.[0]?.startsWith("✅ @Ana Your pull request is ready"));

  await world.stopApp();
  await world.startApp();
  const second = await write(world, "and the FAQ", message);
  if (second.delivery !== undefined) await slack.redeliver(second.delivery, { retryNum: 1 });
  await world.until(() => answers(world, message)[2]?.[0] === SENT);
  await write(world, "new: fix the glossary", message);
  await write(world, "new users can't find the start page");
  await world.pass(5 * MINUTE_MS);
  expect(prompts(world)).toEqual({
    creates: ["fix the <install> page & more", "fix the glossary", "new users can't find the start page"],
    messages: ["and the FAQ"],
  });
  expect(service.messages[0]?.jobId).toBe(jobOf(world, 0));
  expect(slack.ephemerals()).toEqual([]);
});

it("starts nothing by what is no message of a person's to the app", async () => {
  await using world = await World.start();
  const { slack } = world;
  const { delivery } = await write(world, "help");
  if (delivery === undefined) throw new Error("the app hears nothing");
  const { bot } = slack.workspace;
  const odd: Record<string, unknown>[] = [
    { subtype: "message_changed", message: { user: ANA, text: "more" } },
    { subtype: "message_deleted" },
    { subtype: "bot_message", bot_id: "B0OTHER" },
    { bot_id: bot.botId, app_id: bot.appId, user: bot.userId },
    { user: bot.userId },
    { user: "USLACKBOT" },
    { edited: { user: ANA, ts: "1.1" } },
    { user: undefined },
    { ts: undefined },
  ];
  for (const [n, fields] of odd.entries()) {
    const body = JSON.parse(delivery.body) as { event: object };
    const event = { ...body.event, text: "more", ts: `${1_800_000_000 + n}.000100`, ...fields };
    const sent = { ...delivery, body: JSON.stringify({ ...body, event }) };
    expect((await slack.redeliver(sent, { resign: true })).status).toBe(200);
  }
  const between = slack.workspace.addDirectMessageBetween([ANA, BEN]);
  await slack.person(ANA).say({ channel: between.id, text: "the docs are wrong" });
  await world.pass(5 * MINUTE_MS);
  expect(prompts(world).creates).toEqual([]);
  expect(world.logger.text("error")).toBe("");
});

it("takes a file's message by its words, and answers one without words with help", async () => {
  await using world = await World.start();
  const { slack } = world;
  const { delivery } = await write(world, "help");
  if (delivery === undefined) throw new Error("the app hears nothing");
  const send = async (fields: object) => {
    const body = JSON.parse(delivery.body) as { event: object };
    const sent = {
      ...delivery,
      body: JSON.stringify({ ...body, event: { ...body.event, blocks: undefined, ...fields } }),
    };
    expect((await slack.redeliver(sent, { resign: true })).status).toBe(200);
    await world.settle();
  };
  const { message } = await write(world, "status");
  await send({ subtype: "file_share", text: "fix what this shows", ts: message.ts });
  await send({ subtype: "file_share", text: "", ts: "1800000001.000100" });
  await world.pass(MINUTE_MS);
  expect(slack.ephemerals(ANA).map((shown) => slack.visibleText(shown).split("\n")[0])).toEqual([
    "*Ask for a docs change and get a pull request:*",
    "You have no recent requests.",
    "*Ask for a docs change and get a pull request:*",
  ]);
  expect(prompts(world).creates).toEqual(["fix what this shows"]);
});

it("answers the words that count alone as the command does", async () => {
  await using world = await World.start();
  const { slack } = world;
  const { message } = await write(world, "fix the install page");
  await world.until(() => answers(world, message).length === 1);
  await slack.person(BEN).command({ channel: DOCS, text: "a request of Ben's" });
  await slack.person(ANA).command({ channel: DOCS, text: "another of Ana's" });
  await world.pass(MINUTE_MS);
  const lists = async (text: string, thread?: SlackMessage) => {
    const before = slack.ephemerals(ANA).length;
    await write(world, text, thread);
    await world.until(() => slack.ephemerals(ANA).length > before);
    const shown = slack.ephemerals(ANA).at(-1);
    return shown === undefined ? [] : slack.visibleText(shown).split("\n");
  };
  expect(await lists("List")).toEqual([
    "*Your requests*",
    expect.stringMatching(/^another of Ana's \(.+ · #docs · 1 minute ago$/),
    expect.stringMatching(/^fix the install page \(.+ · direct message · 1 minute ago$/),
  ]);
  const here = await lists("list channel", message);
  expect(here.filter((line) => line.includes("(https:"))).toEqual([
    expect.stringMatching(/^fix the install page \(/),
  ]);
  expect(await lists("status")).toEqual([
    "Your requests: 2 running, 0 waiting.",
    expect.stringMatching(/^✅ The agent last answered /),
  ]);
  expect((await lists("help"))[0]).toBe("*Ask for a docs change and get a pull request:*");
  expect(prompts(world).messages).toEqual([]);
});

it("a reply to what was moved here goes to that job, also where only the outcome was moved", async () => {
  await using world = await World.start();
  const { slack, service } = world;
  // The app isn't in #random.
  await slack.person(ANA).command({ channel: RANDOM, text: "fix the random page" });
  const moved = await world.until(() => slack.dm(ANA)[0]);
  await write(world, "and its title", moved);
  await world.until(() => service.messages.length === 1);

  const before = service.creates.length;
  await slack.person(BEN).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => service.creates.length > before);
  await world.pass(5000);
  slack.workspace.kick(DOCS);
  service.finish(jobOf(world), { status: "completed", prLink: PR });
  const outcome = await world.until(() => slack.dm(BEN)[0]);
  await write(world, "and the FAQ", outcome, BEN);
  await world.until(() => service.messages.length === 2);
  expect(service.messages.map((message) => [message.jobId, firstLine(message)])).toEqual([
    [jobOf(world, 0), "and its title"],
    [jobOf(world, 1), "and the FAQ"],
  ]);
  await world.until(() => answers(world, outcome).length === 1);
  // It was Ben's, and the thread in the channel is still the job's.
  expect(prompts(world).creates).toHaveLength(2);
});

it("says how to go on without a mention, and what is wrong, privately", async () => {
  await using world = await World.start();
  const { slack, service } = world;
  const { message } = await write(world, "fix the install command");
  await world.until(() => answers(world, message).length === 1);
  service.finish(jobOf(world), { status: "completed", prLink: null });
  await world.until(() => answers(world, message).length === 2);
  expect(answers(world, message)[1]).toContain("Reply and name the page.");
  await write(world, "x".repeat(4001), message);
  await write(world, "project=nope fix it");
  await world.pass(MINUTE_MS);
  expect(slack.ephemerals(ANA).map((shown) => slack.visibleText(shown))).toEqual([
    expect.stringContaining("4,001 characters"),
    "There's only one project. Leave out “project=nope”.",
  ]);
  expect(prompts(world)).toEqual({ creates: ["fix the install command"], messages: [] });
});

/** What the app says to a newcomer. */
const WELCOME = [
  "Hi! Tell me what's wrong in the docs, and the agent prepares a pull request. Write it here in your own words, or try one of these:",
  "[Fix the typos in the docs] [Fix the broken links in the docs] [Update old commands in the docs]",
  "Type “help” to see everything you can do.",
];

it("welcomes a newcomer once, and a suggestion that is pressed is a request, once", async () => {
  await using world = await World.start();
  const { slack, service } = world;
  const { outcome } = await slack.person(ANA).openApp();
  expect(outcome?.status).toBe(200);
  if (outcome !== undefined) await slack.redeliver(outcome.delivery, { retryNum: 1 });
  const welcome = await world.until(() => slack.dm(ANA)[0]);
  expect(slack.visibleText(welcome).split("\n")).toEqual(WELCOME);
  await slack.person(ANA).openApp();
  await world.stopApp();
  await world.startApp();
  await world.pass(8 * 24 * 60 * MINUTE_MS);
  await slack.person(ANA).openApp();
  await world.pass(MINUTE_MS);
  expect(slack.dm(ANA)).toHaveLength(1);

  const press = { channel: welcome.channel, messageTs: welcome.ts, actionId: "suggestion_1" };
  const { delivery, status } = await slack.person(ANA).click(press);
  expect(status).toBe(200);
  await slack.redeliver(delivery);
  await world.until(() => slack.dm(ANA).length === 2);
  await slack.person(ANA).click(press);
  await slack.until(() => slack.ephemerals(ANA).length > 0);
  // That can't be said, and the request was accepted all the same.
  slack.faults.add({ method: "response_url", fault: { kind: "drop-before" } });
  await slack.person(ANA).click(press);
  await world.pass(5 * MINUTE_MS);
  expect(service.creates.map(firstLine)).toEqual(["Fix the broken links in the docs"]);
  expect(world.logger.text("error")).not.toContain("could not accept");
  const root = slack.dm(ANA)[1];
  expect(root === undefined ? "" : slack.visibleText(root)).toContain(
    "@Ana requested a docs change:\nFix the broken",
  );
  expect(slack.visibleText(slack.ephemerals(ANA).at(-1) ?? welcome)).toBe(
    "You already asked for that here. Send it as a message to ask again.",
  );
});

it("welcomes nobody who has asked for something, or in whose direct messages something stands", async () => {
  await using world = await World.start();
  const { slack } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await write(world, "help", undefined, BEN);
  await world.pass(MINUTE_MS);
  await slack.person(ANA).openApp();
  await slack.person(BEN).openApp();
  await world.pass(MINUTE_MS);
  expect(slack.dm(ANA)).toEqual([]);
  expect(slack.dm(BEN)).toHaveLength(1);
});

it("a welcome whose answer is lost is there once", async () => {
  await using world = await World.start();
  const { slack } = world;
  slack.faults.add({ method: "conversations.history", fault: { kind: "http", status: 503 } });
  slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
  await slack.person(ANA).openApp();
  await world.until(() => slack.dm(ANA).length === 1);
  await world.pass(30 * MINUTE_MS);
  expect(slack.dm(ANA)).toHaveLength(1);
});
