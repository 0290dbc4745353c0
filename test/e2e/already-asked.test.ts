import { describe, expect, it } from "vitest";
import { visibleText } from "../../world/slack/index.ts";
import type { OpenView } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, ask, reply, said } from "../support/threads.ts";
import { privately } from "../support/presses.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../support/world.ts";

/** Picks the shortcut on a message; the form, as soon as it lists the thread. */
async function pick(world: World, userId: string, ts: string): Promise<OpenView> {
  await world.slack.person(userId).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: ts });
  return world.slack.until(() => {
    const open = world.slack.openViews(userId).at(-1);
    return open === undefined || JSON.stringify(open.view).includes("Reading the thread") ? undefined : open;
  });
}

/** What a form shows, line by line, and its button. */
function linesOf(world: World, { view }: OpenView): string[] {
  const nameOf = (id: string) => world.slack.workspace.nameOf(id);
  return [...visibleText({ text: "", blocks: view.blocks }, nameOf).split("\n"), `[${view.submit?.text}]`];
}

const send = (world: World, form: OpenView, text?: string) =>
  world.slack.person(form.user).submit({
    viewId: form.id,
    ...(text === undefined ? {} : { values: { instructions: { instructions: text } } }),
  });

describe("the shortcut where somebody has asked before, and it runs", () => {
  it("says who and when before anything is typed; Follow it mentions the person in the result instead", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { slack, service } = world;
    const wrong = slack.workspace.say({ channel: DOCS, user: BEN, text: "npm instal is wrong" });
    await send(world, await pick(world, ANA, wrong.ts));
    await world.until(() => service.creates.length === 1);
    await world.pass(3 * MINUTE_MS);
    await world.stopApp();
    await world.startApp();
    const form = await pick(world, BEN, wrong.ts);
    expect(linesOf(world, form).slice(0, 2)).toEqual(["@Ana asked for this 3 minutes ago.", "[Follow it]"]);
    expect(linesOf(world, form).at(-1)).toBe("[Start another]");
    const { hash: before } = form;
    await slack.person(BEN).clickInView({ viewId: form.id, actionId: "follow_it" });
    const after = await slack.until(() => slack.openViews(BEN).find(({ hash }) => hash !== before));
    expect(linesOf(world, after)[0]).toBe("I'll mention you in the result.");
    service.finish("job_1", { status: "completed", prLink: PR });
    await world.until(() => said(world, wrong).length === 2);
    expect(said(world, wrong)[1]?.[0]).toContain("✅ @Ana @Ben Your pull request is ready");
    expect(service.creates).toHaveLength(1);
    // It has ended: nobody need be told.
    await slack.person(BEN).closeView({ viewId: after.id });
    expect(linesOf(world, await pick(world, BEN, wrong.ts)).at(-1)).toBe("[Send]");
  });

  it("on any message of a thread with a job; Start another is another", async () => {
    await using world = await World.start();
    const { slack, service } = world;
    const root = await ask(world);
    const aside = slack.workspace.say({ channel: DOCS, user: BEN, text: "also wrong", threadTs: root.ts });
    for (const [ts, userId, who] of [
      [root.ts, ANA, "You"],
      [aside.ts, BEN, "@Ana"],
    ] as const) {
      const form = await pick(world, userId, ts);
      expect(linesOf(world, form)[0]).toMatch(
        new RegExp(`^${who} asked for this (just now|\\d+ minutes? ago)\\.$`),
      );
      if (userId === BEN) await send(world, form, "this one, too");
      else await slack.person(ANA).closeView({ viewId: form.id });
      await world.settle();
    }
    await world.until(() => service.creates.length === 2);
    expect(service.creates[1]?.prompt).toContain("this one, too");
    // A mention is a follow-up, and `new` starts one of its own: nobody is asked.
    await reply(world, root, "new: something else", ANA);
    await world.until(() => service.creates.length === 3);
  });

  it("that two send at the same time is one job; the other's words stay in the form, and can be sent as they are", async () => {
    await using world = await World.start();
    const { slack, service } = world;
    const wrong = slack.workspace.say({ channel: DOCS, user: BEN, text: "npm instal is wrong" });
    slack.workspace.say({ channel: DOCS, user: BEN, text: "in two places", threadTs: wrong.ts });
    const forms = [await pick(world, ANA, wrong.ts), await pick(world, BEN, wrong.ts)];
    for (const form of forms) expect(linesOf(world, form).at(-1)).toBe("[Send]");
    const fill = (form: OpenView) => ({
      viewId: form.id,
      values: { instructions: { instructions: `words of ${form.user}` }, share_0: { share: "" } },
    });
    await Promise.all(forms.map((form) => slack.person(form.user).submit(fill(form))));
    await world.until(() => service.creates.length === 1);
    await world.pass(MINUTE_MS);
    expect(service.creates).toHaveLength(1);
    const open = forms.flatMap(({ user }) => slack.openViews(user));
    expect(open).toHaveLength(1);
    const [told] = open;
    if (told === undefined) throw new Error("nobody was told");
    const winner = told.user === ANA ? "@Ben" : "@Ana";
    expect(linesOf(world, told).slice(0, 2)).toEqual([`${winner} asked for this just now.`, "[Follow it]"]);
    await send(world, told);
    await world.until(() => service.creates.length === 2);
    // Also what was unticked stays so.
    expect(service.creates[1]?.prompt).toBe(`words of ${told.user}`);
    expect(slack.openViews(told.user)).toEqual([]);
  });

  it("Follow it too late says so, and keeps the form", async () => {
    await using world = await World.start();
    const { slack, service } = world;
    const root = await ask(world);
    const form = await pick(world, BEN, root.ts);
    service.finish("job_1", { status: "failed" });
    await world.until(() => said(world, root).length === 1);
    const { hash: before } = form;
    await slack.person(BEN).clickInView({ viewId: form.id, actionId: "follow_it" });
    const after = await slack.until(() => slack.openViews(BEN).find(({ hash }) => hash !== before));
    expect(linesOf(world, after)[0]).toMatch(/^The agent has already finished\./);
    await send(world, after, "again, then");
    await world.until(() => service.creates.length === 2);
  });
});

describe("the same command or mention of somebody else, while that runs", () => {
  const OFFER = "@Ana asked for this just now.\n[Follow it] [Start another]";
  const WORDS = "fix the install page";

  const start = () => World.start({ jobService: { level: 1 } });

  /** Presses a button of the offer. */
  async function pressOffer(world: World, actionId: string): Promise<void> {
    const shown = world.slack.ephemerals(BEN).at(-1);
    const click = { channel: DOCS, messageTs: shown?.ts ?? "", ephemeral: true, actionId };
    expect((await world.slack.person(BEN).click(click)).status).toBe(200);
    await world.settle();
  }

  it.each(["command", "mention"] as const)("a %s offers to follow that one", async (way) => {
    await using world = await start();
    const { slack, service } = world;
    const root = await ask(world, WORDS);
    const text = " Fix  the install PAGE ";
    const { delivery } = await slack.person(BEN)[way]({ channel: DOCS, text });
    await world.settle();
    expect(privately(world, BEN)).toEqual([OFFER]);
    await pressOffer(world, "follow_it");
    expect(privately(world, BEN)).toEqual(["I'll mention you in the result."]);
    service.finish("job_1", { status: "completed", prLink: PR });
    await world.until(() => said(world, root).length === 1);
    expect(said(world, root)[0]?.[0]).toContain("✅ @Ana @Ben Your pull request is ready");
    // Delivered again, it starts nothing, although the other one has ended.
    if (delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
    await world.pass(MINUTE_MS);
    expect(service.creates).toHaveLength(1);
    expect(privately(world, BEN)).toHaveLength(1);
  });

  it.each(["command", "mention"] as const)("a %s: Start another is another, once", async (way) => {
    await using world = await start();
    const { slack, service } = world;
    await ask(world, WORDS);
    await slack.person(BEN)[way]({ channel: DOCS, text: WORDS });
    await world.stopApp();
    await world.startApp();
    await world.settle();
    const shown = slack.ephemerals(BEN).at(-1)?.ts ?? "";
    await pressOffer(world, "send_reply");
    await world.until(() => service.creates.length === 2);
    expect(service.creates[1]?.prompt).toContain(WORDS);
    expect(slack.ephemerals(BEN).map(({ ts }) => ts)).not.toContain(shown);
    await world.pass(MINUTE_MS);
    expect(service.creates).toHaveLength(2);
  });

  it("sent at the same time is one job, and the other person is told", async () => {
    await using world = await start();
    const { slack, service } = world;
    const sent = [ANA, BEN].map((userId) => slack.person(userId).command({ channel: DOCS, text: WORDS }));
    await Promise.all(sent);
    await world.pass(MINUTE_MS);
    expect(service.creates).toHaveLength(1);
    expect([...privately(world, ANA), ...privately(world, BEN)]).toEqual([
      expect.stringMatching(/^@(Ana|Ben) asked for this just now\.\n\[Follow it\] \[Start another\]$/),
    ]);
  });

  it("in the form of /docs-agent, too", async () => {
    await using world = await start();
    const { slack, service } = world;
    await ask(world, WORDS);
    await slack.person(BEN).command({ channel: DOCS, text: "" });
    await send(world, await world.form(BEN), WORDS);
    const told = await world.form(BEN);
    expect(linesOf(world, told).slice(0, 2)).toEqual(["@Ana asked for this just now.", "[Follow it]"]);
    await send(world, told, WORDS);
    await world.until(() => service.creates.length === 2);
  });

  it("in another channel, too, if both people are in it, and after any time", async () => {
    await using world = await start();
    await ask(world, WORDS);
    await world.pass(60 * MINUTE_MS);
    world.slack.workspace.invite(RANDOM);
    await world.slack.person(BEN).command({ channel: RANDOM, text: WORDS });
    await world.settle();
    expect(privately(world, BEN)).toEqual(["@Ana asked for this 1 hour ago.\n[Follow it] [Start another]"]);
  });

  it("starts a job at once where it isn't the same, or no longer runs, or the person asks again", async () => {
    await using world = await start();
    const { slack, service } = world;
    const root = await ask(world, WORDS);
    await slack.person(ANA).command({ channel: DOCS, text: WORDS });
    await slack.person(BEN).command({ channel: DOCS, text: `${WORDS}s` });
    await slack.person(BEN).command({ channel: RANDOM, text: `${WORDS} now` });
    const thread = slack.workspace.say({ channel: DOCS, user: BEN, text: "look" });
    await reply(world, thread, WORDS);
    await reply(world, root, `new: ${WORDS}`);
    await world.until(() => service.creates.length === 6);
    for (const { jobId } of service.creates) service.finish(jobId, { status: "failed" });
    await world.pass(MINUTE_MS);
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.until(() => service.creates.length === 7);
    expect([...privately(world, ANA), ...privately(world, BEN)].join("\n")).not.toContain("asked for this");
  });

  it("Follow it too late says so, and the request can still be sent", async () => {
    await using world = await start();
    const { slack, service } = world;
    const root = await ask(world, WORDS);
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.settle();
    service.finish("job_1", { status: "failed" });
    await world.until(() => said(world, root).length === 1);
    const [offer] = slack.ephemerals(BEN);
    await pressOffer(world, "follow_it");
    await slack.until(() => privately(world, BEN).length === 2);
    expect(privately(world, BEN).at(-1)).toMatch(/^The agent has already finished\./);
    const click = { channel: DOCS, messageTs: offer?.ts ?? "", ephemeral: true, actionId: "send_reply" };
    await slack.person(BEN).click(click);
    await world.until(() => service.creates.length === 2);
  });
});
