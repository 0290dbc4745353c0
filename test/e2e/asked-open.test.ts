import { describe, expect, it } from "vitest";
import { visibleText } from "../../world/slack/index.ts";
import type { OpenView } from "../../world/slack/index.ts";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { LINK, MINUTE_MS, PR, ask, jobOf, said } from "../support/threads.ts";
import { privately } from "../support/presses.ts";
import { ANA, BEN, DOCS, RANDOM, SECRET_CHANNEL, World, type WorldOptions } from "../support/world.ts";

const DAY_MS = 86_400_000;
const WORDS = "fix the install page";

const start = (options: WorldOptions = {}) => World.start({ jobService: { level: 1 }, ...options });

/** Ends the newest job with a pull request that stands like this, and waits a day or more. */
async function linked(world: World, stands: Partial<Sent<typeof FollowedPullRequest>> = {}, days = 3) {
  const { service } = world;
  service.finish(jobOf(world), { status: "completed", prLink: PR });
  service.follow(jobOf(world), stands);
  await world.passWithoutApp(days * DAY_MS);
  await world.pass(MINUTE_MS);
}

/** Asks in a channel, and ends with an open pull request. */
async function asked(world: World, who = ANA, channel = DOCS, text = WORDS): Promise<void> {
  const before = world.service.creates.length;
  await world.slack.person(who).command({ channel, text });
  await world.until(() => world.service.creates.length > before);
  await linked(world);
}

const offer = (by = "@Ana", state = "waiting for maria") =>
  `There's already a pull request for this: ${LINK}, ${state}, requested by ${by} 3 days ago.`;
const BUTTONS = "[Add to it] [Follow it] [Start another]";

async function press(world: World, who: string, actionId: string, channel = DOCS): Promise<void> {
  const shown = world.slack.ephemerals(who).at(-1);
  const click = { channel, messageTs: shown?.ts ?? "", ephemeral: true, actionId };
  expect((await world.slack.person(who).click(click)).status).toBe(200);
  await world.settle();
}

const last = (world: World, who: string) => privately(world, who).at(-1);

describe("a command or mention for what an open pull request does", () => {
  it.each(["command", "mention"] as const)("Add to it sends a %s as a follow-up", async (way) => {
    await using world = await start();
    const { slack, service } = world;
    const root = await ask(world, WORDS);
    await linked(world);
    const { delivery } = await slack.person(BEN)[way]({ channel: DOCS, text: "Fix the “install”  page!" });
    await world.settle();
    expect(privately(world, BEN)).toEqual([`${offer()}\n${BUTTONS}`]);
    expect(service.creates).toHaveLength(1);
    await world.stopApp();
    await world.startApp();
    await press(world, BEN, "add_to_it");
    expect(last(world, BEN)).toBe("Sent to the agent. I'll reply in the thread of that pull request.");
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]).toMatchObject({ jobId: "job_1", prompt: "Fix the “install”  page!" });
    expect(said(world, root).flat().join("\n")).toContain("@Ben followed up:");
    if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
    await world.pass(MINUTE_MS);
    expect(service.messages).toHaveLength(1);
    expect(service.creates).toHaveLength(1);
  });

  it("Follow it mentions the person when it is merged", async () => {
    await using world = await start();
    const root = await ask(world, WORDS);
    await linked(world);
    await world.slack.person(BEN).mention({ channel: DOCS, text: WORDS });
    await world.settle();
    await press(world, BEN, "follow_it");
    expect(last(world, BEN)).toBe("I'll mention you when there's news of it.");
    world.service.follow(jobOf(world), { state: "merged" });
    await world.until(() => said(world, root).at(-1)?.[0] === `🎉 @Ana @Ben ${LINK} is merged.`);
    expect(world.service.creates).toHaveLength(1);
  });

  it("Start another is another, also of one's own, and the next person is told of the newest", async () => {
    await using world = await start();
    const { slack, service } = world;
    await asked(world);
    await slack.person(ANA).command({ channel: DOCS, text: WORDS });
    await world.settle();
    expect(last(world, ANA)).toBe(`${offer("you")}\n${BUTTONS}`);
    await press(world, ANA, "send_reply");
    await world.until(() => service.creates.length === 2);
    service.finish(jobOf(world), { status: "failed" });
    await world.pass(MINUTE_MS);
    // That came to nothing, so the pull request is still the one.
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.settle();
    expect(last(world, BEN)).toContain(LINK);
  });

  it.each([
    [{ state: "merged" as const }, "It was merged meanwhile, so I started a new request."],
    [{ state: "closed" as const }, "It was closed meanwhile, so I started a new request."],
  ])("Add to it, after it has ended: %o", async (stands, answer) => {
    await using world = await start();
    const { slack, service } = world;
    await asked(world);
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.settle();
    service.follow(jobOf(world), stands);
    await world.pass(15 * MINUTE_MS);
    await press(world, BEN, "add_to_it");
    expect(last(world, BEN)).toBe(answer);
    await world.until(() => service.creates.length === 2);
    expect(service.messages).toHaveLength(0);
    // Once it has ended, nobody is asked.
    await slack.person(ANA).command({ channel: DOCS, text: `${WORDS} again` });
    await world.until(() => service.creates.length === 3);
  });

  it("is found in other channels that the person is in, and never in a private one that they aren't in", async () => {
    await using world = await start();
    const { slack, service } = world;
    slack.workspace.invite(RANDOM);
    await asked(world, ANA, SECRET_CHANNEL, "fix the secret page");
    await asked(world);
    await slack.person(BEN).command({ channel: RANDOM, text: "fix the secret page" });
    await world.until(() => service.creates.length === 3);
    expect(privately(world, BEN)).toEqual([]);
    await slack.person(BEN).command({ channel: RANDOM, text: WORDS });
    await world.until(() => privately(world, BEN).length === 1);
    expect(last(world, BEN)).toBe(`${offer()}\n${BUTTONS}`);
    await press(world, BEN, "add_to_it", RANDOM);
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]?.jobId).toBe("job_2");
  });

  it("has no Add to it for people who may not steer that job", async () => {
    await using world = await start({ env: { FOLLOW_UPS: "requester" } });
    await asked(world);
    await world.slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.settle();
    expect(last(world, BEN)).toBe(`${offer()}\n[Follow it] [Start another]`);
  });
});

/** Picks the shortcut on a message; the form, as soon as it lists the thread. */
async function pick(world: World, userId: string, ts: string): Promise<OpenView> {
  await world.slack.person(userId).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: ts });
  return world.slack.until(() => {
    const open = world.slack.openViews(userId).at(-1);
    return open === undefined || JSON.stringify(open.view).includes("Reading the thread") ? undefined : open;
  });
}

function linesOf(world: World, { view }: OpenView): string[] {
  const nameOf = (id: string) => world.slack.workspace.nameOf(id);
  return [...visibleText({ text: "", blocks: view.blocks }, nameOf).split("\n"), `[${view.submit?.text}]`];
}

describe("Fix these docs on a message that a pull request is open for", () => {
  it("says so before anything is typed; Add to it sends the form's words and message", async () => {
    await using world = await start();
    const { slack, service } = world;
    const wrong = slack.workspace.say({ channel: DOCS, user: BEN, text: "npm instal is wrong" });
    const first = await pick(world, ANA, wrong.ts);
    await slack.person(ANA).submit({ viewId: first.id });
    await world.until(() => service.creates.length === 1);
    await linked(world, { review: "changes-requested" });
    const form = await pick(world, BEN, wrong.ts);
    const lines = linesOf(world, form);
    expect(lines.slice(0, 2)).toEqual([offer("@Ana", "changes requested"), "[Add to it] [Follow it]"]);
    expect(lines.at(-1)).toBe("[Start another]");
    expect(lines.join("\n")).not.toContain("Your pull request is ready");
    const { hash: before } = form;
    await slack.person(BEN).clickInView({
      viewId: form.id,
      actionId: "add_to_it",
      values: { instructions: { instructions: "in the FAQ, too" } },
    });
    const after = await slack.until(() => slack.openViews(BEN).find(({ hash }) => hash !== before));
    expect(linesOf(world, after)[0]).toBe(
      "Sent to the agent. I'll reply in the thread of that pull request.",
    );
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]?.prompt).toMatch(/^in the FAQ, too\n/);
    expect(service.messages[0]?.prompt).toContain("npm instal is wrong");
    await world.pass(MINUTE_MS);
    expect(service.creates).toHaveLength(1);
    // Our own result in that thread doesn't go along.
    expect(said(world, wrong).at(-1)).toEqual([
      "@Ben followed up:",
      "in the FAQ, too",
      "🔧 Follow-up sent to the agent.",
    ]);
    expect(service.messages[0]?.prompt).not.toContain("Your pull request is ready");
  });

  it("a mention that quotes the message is told, too", async () => {
    await using world = await start();
    const { slack, service } = world;
    slack.workspace.invite(RANDOM);
    const wrong = slack.workspace.say({ channel: DOCS, user: BEN, text: "npm instal is wrong" });
    const first = await pick(world, ANA, wrong.ts);
    await slack.person(ANA).submit({ viewId: first.id });
    await world.until(() => service.creates.length === 1);
    await linked(world);
    await slack.person(BEN).mention({
      channel: RANDOM,
      text: "please look at this",
      attachments: [
        {
          id: 1,
          fallback: "a message",
          is_msg_unfurl: true,
          ts: wrong.ts,
          author_id: BEN,
          channel_id: DOCS,
          text: "npm instal is wrong",
          from_url: "https://acme.slack.com/archives/C/p1",
        },
      ],
    });
    await world.until(() => privately(world, BEN).length === 1);
    expect(last(world, BEN)).toContain(offer());
    expect(service.creates).toHaveLength(1);
  });
});
