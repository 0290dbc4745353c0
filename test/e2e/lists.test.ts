import { expect, it } from "vitest";
import type { SlackDelivery } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, ask, done, jobOf, reply, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, SECRET_CHANNEL, World } from "../support/world.ts";

const SECOND_MS = 1000;

/** What a person alone reads at last in a place, line by line, as soon as there is something new. */
async function answer(world: World, userId: string, text: string, channel = DOCS): Promise<string[]> {
  const { slack } = world;
  const before = slack.ephemerals(userId).length;
  const { status, body } = await slack.person(userId).command({ channel, text });
  expect([status, body]).toEqual([200, ""]);
  await world.until(() => slack.ephemerals(userId).length > before);
  return shown(world, userId);
}

function shown(world: World, userId: string): string[] {
  const last = world.slack.ephemerals(userId).at(-1);
  return last === undefined ? [] : world.slack.visibleText(last).split("\n");
}

/** Presses a button of the newest private answer. */
async function turn(world: World, userId: string, actionId: string, channel = DOCS): Promise<SlackDelivery> {
  const messageTs = world.slack.ephemerals(userId).at(-1)?.ts ?? "";
  const act = { channel, messageTs, ephemeral: true, actionId };
  const { delivery, status } = await world.slack.person(userId).click(act);
  expect(status).toBe(200);
  await world.settle();
  return delivery;
}

/** The first words of the requests that were listed. */
function requestsIn(lines: string[]): string[] {
  return lines.flatMap(
    (line) => /^(.+?) \(https:\/\/playground\.slack\.com\/archives\/[^ ]+\) · /.exec(line)?.[1] ?? [],
  );
}

/** A command whose thread is there. */
async function request(world: World, userId: string, text: string, channel = DOCS): Promise<void> {
  const { creates } = world.service;
  const before = creates.length;
  await world.slack.person(userId).command({ channel, text });
  await world.until(() => creates.length > before);
  await world.pass(2 * SECOND_MS);
}

it("lists a person's requests in a line each, newest first, with its follow-ups, state and pull request", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await done(world);
  await reply(world, root, "and <the> *FAQ* <!channel>", ANA);
  await world.until(() => world.service.messages.length === 1);
  await world.pass(5 * SECOND_MS);
  await request(world, BEN, "a request of Ben's");
  const url = `https://playground.slack.com/archives/${DOCS}/p${root.ts.replace(".", "")}`;
  expect(await answer(world, ANA, "  List ")).toEqual([
    "*Your requests*",
    `fix the install page (${url}) · 1 follow-up · 🔧 Follow-up sent to the agent. · #docs · just now`,
  ]);
  expect(await answer(world, BEN, "list channel")).toEqual([
    "*Requests in this channel*",
    expect.stringMatching(/^a request of Ben's \(.+\) · ⏳ Starting… · @Ben · just now$/),
    expect.stringMatching(/^fix the install page .+ · @Ana · just now$/),
  ]);
  world.service.finish(jobOf(world, 0), { status: "completed", prLink: PR, turn: reportOfLink() });
  await world.pass(2 * MINUTE_MS);
  expect((await answer(world, ANA, "list")).slice(1)).toEqual([
    `fix the install page (${url}) · 1 follow-up · ✅ Pull request ready, 3 files, +12 −4 · ` +
      `acme/docs#7 (${PR}) · #docs · 2 minutes ago`,
  ]);
  expect(world.slack.ephemerals().flatMap(({ mentions }) => mentions)).not.toContain("!channel");
});

it("says so where there is nothing, and takes the words only alone", async () => {
  await using world = await World.start();
  expect(await answer(world, ANA, "list")).toEqual(["You have no recent requests."]);
  expect(await answer(world, ANA, "list channel")).toEqual(["No recent requests in this channel."]);
  await request(world, ANA, "list the options on the page");
  await request(world, ANA, "status codes are wrong");
  expect(requestsIn(await answer(world, ANA, "list"))).toEqual([
    "status codes are wrong",
    "list the options on the page",
  ]);
});

it("turns pages in place, also after a restart, and a press that arrives again changes nothing", async () => {
  await using world = await World.start();
  for (let n = 1; n <= 23; n += 1)
    await world.slack.person(ANA).command({ channel: DOCS, text: `request ${n}` });
  await world.pass(MINUTE_MS);
  const names = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, n) => `request ${from - n}`);
  const first = await answer(world, ANA, "list");
  expect([requestsIn(first), first.at(-1)]).toEqual([names(23, 14), "[Older]"]);
  const count = world.slack.ephemerals(ANA).length;
  await world.stopApp();
  await world.startApp();
  await turn(world, ANA, "list_older");
  await world.until(() => shown(world, ANA)[0] === "*Your requests*, page 2");
  expect([requestsIn(shown(world, ANA)), shown(world, ANA).at(-1)]).toEqual([
    names(13, 4),
    "[Newer] [Older]",
  ]);
  const pressed = await turn(world, ANA, "list_older");
  await world.until(() => shown(world, ANA)[0] === "*Your requests*, page 3");
  expect([requestsIn(shown(world, ANA)), shown(world, ANA).at(-1)]).toEqual([names(3, 1), "[Newer]"]);
  await turn(world, ANA, "list_newer");
  await world.until(() => shown(world, ANA)[0] === "*Your requests*, page 2");
  await world.slack.redeliver(pressed);
  await world.pass(MINUTE_MS);
  expect(shown(world, ANA)[0]).toBe("*Your requests*, page 2");
  expect(world.slack.ephemerals(ANA)).toHaveLength(count);
});

it("answers a mention in the same way, once", async () => {
  await using world = await World.start();
  const root = await ask(world);
  await world.pass(2 * SECOND_MS);
  const { delivery } = await world.slack
    .person(BEN)
    .mention({ channel: DOCS, threadTs: root.ts, text: "list channel" });
  if (delivery !== undefined) await world.slack.redeliver(delivery, { retryNum: 1 });
  await world.pass(MINUTE_MS);
  expect(world.slack.ephemerals(BEN).map(({ thread_ts }) => thread_ts)).toEqual([root.ts]);
  expect(requestsIn(shown(world, BEN))).toEqual(["fix the install page"]);
  expect(world.service.messages).toEqual([]);
});

it("tells how many requests run and wait, whether the agent answers, and what went wrong", async () => {
  await using world = await World.start();
  expect(await answer(world, ANA, "status")).toEqual([
    "You have no recent requests.",
    "This channel: 0 running, 0 waiting.",
  ]);
  const root = await ask(world);
  world.service.finish(jobOf(world), { status: "failed" });
  await world.until(() => world.replies(DOCS, root.ts).length === 1);
  await request(world, BEN, "a request of Ben's");
  await world.service.down();
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
  await world.pass(10 * SECOND_MS);
  expect(await answer(world, ANA, "status")).toEqual([
    "Your requests: 0 running, 1 waiting.",
    "This channel: 1 running, 1 waiting.",
    expect.stringMatching(
      /^⚠️ The agent hasn't answered since .+ UTC\. Waiting requests start when it's back\.$/,
    ),
    expect.stringMatching(/^Latest failure \(\d\d:\d\d UTC\):$/),
    expect.stringMatching(/^fix the install page \(.+\) · ❌ Couldn't finish · #docs · just now$/),
  ]);
  await world.service.up();
  await world.until(() => world.service.creates.length === 3);
  expect((await answer(world, BEN, "status"))[2]).toMatch(/^✅ The agent last answered /);
});

it("shows nothing of a channel to somebody who isn't in it", async () => {
  await using world = await World.start();
  const { slack } = world;
  slack.workspace.invite(SECRET_CHANNEL);
  await request(world, ANA, "the secret page", SECRET_CHANNEL);
  await request(world, ANA, "the install page");
  // To Ana alone: the app isn't in #random, so it reports in her direct messages.
  await request(world, ANA, "the random page", RANDOM);
  expect(requestsIn(await answer(world, BEN, "list channel"))).toEqual(["the install page"]);
  expect(requestsIn(await answer(world, BEN, "list channel", RANDOM))).toEqual([]);
  expect(requestsIn(await answer(world, BEN, "list"))).toEqual([]);
  expect(await answer(world, BEN, "status", RANDOM)).toContain("This channel: 0 running, 0 waiting.");
  expect(requestsIn(await answer(world, ANA, "list channel", RANDOM))).toEqual(["the random page"]);
  expect(requestsIn(await answer(world, ANA, "list channel", SECRET_CHANNEL))).toEqual(["the secret page"]);
  const mine = ["the random page", "the install page", "the secret page"];
  expect(requestsIn(await answer(world, ANA, "list"))).toEqual(mine);

  // She leaves: what she asked for there is no longer hers to read, on an old list neither.
  slack.workspace.kick(SECRET_CHANNEL, ANA);
  await world.pass(MINUTE_MS);
  const left = await answer(world, ANA, "list");
  expect(requestsIn(left)).toEqual(mine.slice(0, 2));
  expect(left.at(-1)).toBe("Requests in channels that you or I have left aren't listed.");
  expect(slack.visibleText(slack.ephemerals(ANA).at(-1) ?? never())).not.toContain("secret");
});

it("a page that is turned after its reader has left the channel shows nothing of it", async () => {
  await using world = await World.start();
  const { slack } = world;
  slack.workspace.invite(SECRET_CHANNEL);
  for (let n = 1; n <= 11; n += 1)
    await world.slack.person(ANA).command({ channel: SECRET_CHANNEL, text: `secret ${n}` });
  await world.pass(MINUTE_MS);
  await answer(world, ANA, "list channel", SECRET_CHANNEL);
  const older = await turn(world, ANA, "list_older", SECRET_CHANNEL);
  await world.until(() => shown(world, ANA)[0]?.endsWith("page 2"));
  slack.workspace.kick(SECRET_CHANNEL, ANA);
  await world.pass(MINUTE_MS);
  const again = { ...older, body: older.body.replace(/trigger_id%22%3A%22\d+/, "trigger_id%22%3A%2299") };
  expect((await slack.redeliver(again, { resign: true })).status).toBe(200);
  await world.until(() => !slack.visibleText(slack.ephemerals(ANA).at(-1) ?? never()).includes("secret"));
  expect(shown(world, ANA)).toEqual(["No recent requests in this channel."]);
});

it("another team's person with the same id sees nothing of it", async () => {
  await using world = await World.start();
  await request(world, ANA, "the install page");
  const { delivery } = await world.slack.person(ANA).command({ channel: DOCS, text: "list" });
  await world.until(() => requestsIn(shown(world, ANA)).length === 1);
  const { id } = world.slack.workspace.team;
  const body = delivery.body.replaceAll(id, "T0OTHER").replace(/trigger_id=\d+/, "trigger_id=99");
  const count = world.slack.ephemerals(ANA).length;
  await world.slack.redeliver({ ...delivery, body }, { resign: true });
  await world.until(() => world.slack.ephemerals(ANA).length > count);
  expect(shown(world, ANA)).toEqual(["You have no recent requests."]);
});

it("where Slack doesn't tell which channels a person is in, lists what is safe, and says so", async () => {
  await using world = await World.start({ withoutScopes: ["groups:read"] });
  const { slack } = world;
  slack.workspace.invite(SECRET_CHANNEL);
  await request(world, ANA, "the secret page", SECRET_CHANNEL);
  await request(world, ANA, "the random page", RANDOM);
  await request(world, ANA, "the install page");
  slack.faults.add({ method: "users.conversations", times: 2, fault: { kind: "http", status: 503 } });
  const partial = await answer(world, ANA, "list", SECRET_CHANNEL);
  expect(requestsIn(partial)).toEqual(["the random page", "the secret page"]);
  expect(partial.at(-1)).toBe(
    "Slack didn't tell me all the channels you're in, so some requests may be missing.",
  );
  // The public ones are told now.
  expect(requestsIn(await answer(world, ANA, "list"))).toEqual(["the install page", "the random page"]);
});

it("lists what a follow-up in a thread is told of, and forgets requests with their retention", async () => {
  await using world = await World.start({ env: { RETENTION_DAYS: "1" } });
  const root = await ask(world);
  world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
  await world.until(() => world.replies(DOCS, root.ts).length === 1);
  expect(requestsIn(await answer(world, ANA, "list"))).toEqual(["fix the install page"]);
  await world.pass(25 * 60 * MINUTE_MS);
  expect(await answer(world, ANA, "list")).toEqual(["You have no recent requests."]);
});

function never(): never {
  throw new Error("nothing is shown");
}
