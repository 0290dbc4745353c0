// @module-tag all

import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { jobOf, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const GUS = "U0GUS";
const DAY_MS = 24 * 60 * 60_000;

/** A world with Gus, a guest, in #docs. */
async function start(): Promise<World> {
  const world = await World.start();
  world.slack.workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
  world.slack.workspace.invite(DOCS, GUS);
  return world;
}

/** How what shows a message names it. */
type Names = (message: SlackMessage) => {
  is_msg_unfurl?: true;
  ts?: string;
  from_url?: string;
  original_url?: string;
  title_link?: string;
};

/** Ben says something and pastes links of messages, which Slack shows under it. */
function show(
  world: World,
  text: string,
  messages: SlackMessage[],
  threadTs?: string,
  names: Names = ({ ts }) => ({ is_msg_unfurl: true, ts }),
): SlackMessage {
  return world.slack.workspace.post({
    channel: DOCS,
    user: BEN,
    text,
    attachments: messages.map((message, n) => ({
      id: n + 1,
      channel_id: DOCS,
      ...names(message),
      author_id: message.user,
      text: message.text,
      fallback: message.text,
    })),
    ...(threadTs === undefined ? {} : { threadTs }),
  });
}

async function quoted(world: World, n = 0): Promise<string[]> {
  const { prompt } = await world.until(() => world.service.creates[n]);
  return prompt.split("\n").filter((line) => line.startsWith("> "));
}

/** Ana's form on a message, as soon as it lists the thread. */
async function formOn(world: World, messageTs: string) {
  await world.slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs });
  return world.slack.until(() => {
    const open = world.slack.openViews(ANA).at(-1);
    return JSON.stringify(open?.view ?? "").includes("Reading the thread") ? undefined : open;
  });
}

describe("a message that shows another one", () => {
  it("brings that along, but nothing of a guest", async () => {
    await using world = await start();
    const { workspace } = world.slack;
    const said = workspace.say({ channel: DOCS, user: ANA, text: "the install page is old" });
    const secret = workspace.say({ channel: DOCS, user: GUS, text: "our contract" });
    const root = workspace.say({ channel: DOCS, user: BEN, text: "look" });
    show(world, "see these", [said, secret], root.ts);
    await reply(world, root, "fix it", ANA);
    expect(await quoted(world)).toEqual(["> look", "> see these", "> the install page is old"]);
    await world.until(() => world.read(DOCS).some((text) => text.includes("1 by guests left out")));
  });

  const address = ({ ts }: SlackMessage) => `https://acme.slack.com/archives/${DOCS}/p${ts.replace(".", "")}`;

  const client = (path: string) => `https://app.slack.com/client/T0ACME/${path}`;

  it.each<[string, Names]>([
    ["its timestamp", ({ ts }) => ({ is_msg_unfurl: true, ts })],
    ["its address", (message) => ({ is_msg_unfurl: true, from_url: address(message) })],
    ["its address in a thread", (message) => ({ from_url: `${address(message)}?thread_ts=1.0&cid=${DOCS}` })],
    ["its address with a slash at the end", (message) => ({ from_url: `${address(message)}/` })],
    ["the address that was pasted", (message) => ({ original_url: address(message) })],
    ["where its title leads", (message) => ({ ts: "1700000000", title_link: address(message) })],
    ["an address of the client", ({ ts }) => ({ title_link: client(`${DOCS}/p${ts.replace(".", "")}`) })],
    ["an address of its thread", ({ ts }) => ({ title_link: client(`${DOCS}/thread/${DOCS}-${ts}`) })],
    ["a link for apps", ({ ts }) => ({ title_link: `slack://channel?team=T0&id=${DOCS}&message=${ts}` })],
    [
      "two addresses",
      (message) => ({ from_url: address({ ...message, ts: "1.000001" }), title_link: address(message) }),
    ],
    ["nothing", () => ({ is_msg_unfurl: true })],
  ])("brings nothing along that somebody unticked, then or later: named by %s", async (_, names) => {
    await using world = await start();
    const { slack, service } = world;
    const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "look" });
    const place = { channel: DOCS, threadTs: root.ts };
    const secret = slack.workspace.say({ ...place, user: ANA, text: "my password is hunter2" });
    const showing = show(world, "see this", [secret], root.ts, names);
    const form = await formOn(world, root.ts);
    const ticked = [root.ts, showing.ts].join("\n");
    await slack.person(ANA).submit({ viewId: form.id, values: { share_0: { share: ticked } } });
    expect(await quoted(world)).toEqual(["> look", "> see this"]);
    show(world, "this one", [secret], root.ts, names);
    await reply(world, root, "new: and the FAQ", BEN);
    expect(await quoted(world, 1)).toEqual(["> look", "> see this", "> this one"]);
    expect(JSON.stringify(service.calls)).not.toContain("hunter2");
  });

  it("brings nothing along that somebody unticked, when all records of the thread have expired", async () => {
    await using world = await start();
    const { slack, service } = world;
    service.script.completeAfterPolls(1);
    const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "look" });
    const secret = slack.workspace.say({
      channel: DOCS,
      threadTs: root.ts,
      user: ANA,
      text: "my password is hunter2",
    });
    const form = await formOn(world, root.ts);
    await slack.person(ANA).submit({ viewId: form.id, values: { share_0: { share: root.ts } } });
    expect(await quoted(world)).toEqual(["> look"]);
    await world.pass(200 * DAY_MS);
    await reply(world, root, "new: and the FAQ", BEN);
    expect(await quoted(world, 1)).toContain("> look");
    show(world, "this one", [secret], root.ts);
    await reply(world, root, "new: and the glossary", BEN);
    expect(await quoted(world, 2)).toContain("> this one");
    expect(JSON.stringify(service.calls)).not.toContain("hunter2");
  });

  it("sends nothing of a guest where it was picked itself, and says so", async () => {
    await using world = await start();
    const { slack, service } = world;
    const secret = slack.workspace.say({ channel: DOCS, user: GUS, text: "our contract" });
    const form = await formOn(world, show(world, "see this", [secret]).ts);
    await slack.person(ANA).submit({ viewId: form.id });
    expect(await quoted(world)).toEqual(["> see this"]);
    await world.until(() => world.read(DOCS).some((text) => text.includes("Messages by guests left out: 1")));
    expect(JSON.stringify(service.calls)).not.toContain("contract");
  });
});

it("an app's message that has words only in its blocks brings these along", async () => {
  await using world = await start();
  const { workspace } = world.slack;
  const text = "This content can't be displayed.";
  const root = workspace.post({
    channel: DOCS,
    user: BEN,
    text,
    blocks: [
      { type: "header", text: { type: "plain_text", text: "Docs build failed" } },
      { type: "section", text: { type: "mrkdwn", text: "See <https://docs.example.com/install|install>" } },
    ],
  });
  await reply(world, root, "fix it", ANA);
  expect(await quoted(world)).toEqual([
    "> Docs build failed",
    "> See install (https://docs.example.com/install)",
  ]);
});

describe("what somebody unchecked", () => {
  const SECRET = "the payroll is in the attic";

  /** A thread with a secret, a message that shows it, and one more. */
  function thread(world: World) {
    const root = world.slack.workspace.say({ channel: DOCS, user: BEN, text: "the FAQ is wrong" });
    const say = (text: string) =>
      world.slack.workspace.say({ channel: DOCS, user: BEN, text, threadTs: root.ts });
    const secret = say(SECRET);
    const showing = show(world, "see this", [secret], root.ts);
    return { root, secret, showing, last: say("30 days") };
  }

  /** Ana unchecks the secret, and her request is sent. */
  async function uncheck(world: World, { root, secret }: ReturnType<typeof thread>) {
    const form = await formOn(world, root.ts);
    expect(JSON.stringify(form.view)).toContain(secret.ts);
    // Only the first message stays ticked.
    const values = { share_0: { share: root.ts } };
    await world.slack.person(ANA).submit({ viewId: form.id, values });
    await world.until(() => world.service.creates.length === 1);
  }

  async function sent(world: World, count: number): Promise<string> {
    await world.until(() => world.service.creates.length === count);
    return JSON.stringify(world.service.calls);
  }

  it("stays in Slack where a form is older than that", async () => {
    await using world = await World.start();
    const said = thread(world);
    await world.slack
      .person(BEN)
      .shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: said.last.ts });
    const older = await world.slack.until(() =>
      world.slack.openViews(BEN).find(({ view }) => !JSON.stringify(view).includes("Reading the thread")),
    );
    expect(JSON.stringify(older.view)).toContain(SECRET);
    await uncheck(world, said);
    // While that runs, Ben would be asked whether to follow it.
    world.service.finish(jobOf(world), { status: "completed" });
    await world.until(() => world.read(DOCS).some((text) => text.includes("No changes")));
    await world.slack.person(BEN).submit({ viewId: older.id });
    expect(await sent(world, 2)).not.toContain(SECRET);
  });

  it.each([
    { what: "can't be read", fault: { kind: "error", error: "channel_is_limited_access" } as const },
    { what: "isn't there yet", fault: { kind: "hang" } as const },
  ])("stays in Slack where another message shows it, and the thread $what", async ({ fault }) => {
    await using world = await World.start();
    const said = thread(world);
    await uncheck(world, said);
    world.slack.faults.add({ method: "conversations.replies", times: 100, fault });
    await world.slack
      .person(BEN)
      .shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: said.showing.ts });
    const form = await world.form(BEN);
    await world.slack.person(BEN).submit({ viewId: form.id });
    expect(await sent(world, 2)).not.toContain(SECRET);
  });
});
