import { describe, expect, it } from "vitest";
import { LINK, MINUTE_MS, PR, SENT, ask, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

describe("a follow-up while the agent is at work", () => {
  it.each([1, 0] as const)("is sent at once, and one status message shows both (level %i)", async (level) => {
    await using world = await World.start({ jobService: { level } });
    const turns = level === 1;
    const { service } = world;
    const root = await ask(world);
    service.tell(jobOf(world), { step: "Read docs/install.md" });
    const working = turns
      ? "🔧 Read docs/install.md"
      : "🔧 The agent is working. I'll reply here when it's done.";
    await world.until(() => world.read(DOCS)[0]?.endsWith(working));
    const { length } = service.gets;
    await reply(world, root, "and the FAQ");
    await world.settle();
    expect([service.messages.length, service.gets.length]).toEqual([1, length]);
    const both = [
      "@Ana requested a docs change:",
      "fix the install page",
      working,
      "@Ben followed up:",
      "and the FAQ",
    ];
    await world.until(() => world.read(DOCS)[0]?.endsWith(SENT));
    expect(world.read(DOCS)[0]?.split("\n")).toEqual([...both, SENT]);
    expect(said(world, root)).toEqual([]);

    const [first, second] = service.jobs.get(jobOf(world))?.turns ?? [];
    if (first === undefined || second === undefined) throw new Error("no turns");
    if (turns) {
      Object.assign(first, { status: "ended", outcome: "pull-request", ...reportOfLink("The first.") });
      service.tell(jobOf(world), { step: "Edit docs/faq.md" });
      await world.until(() => world.read(DOCS)[0]?.endsWith("🔧 Edit docs/faq.md"));
      expect(said(world, root).map(([line]) => line)).toEqual(["✅ @Ana Your pull request is ready:"]);
    } else {
      // It is seen at work.
      await world.pass(MINUTE_MS);
    }
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink("The second.") });
    await world.until(() => said(world, root).length === 2);
    await world.pass(10 * MINUTE_MS);
    expect(said(world, root).map(([line]) => line)).toEqual(
      turns
        ? ["✅ @Ana Your pull request is ready:", `✅ @Ben The agent updated ${LINK}:`]
        : // What the job came to is the last turn's.
          ["❓ @Ana I can't tell how this ended by itself.", `✅ @Ben Your pull request is ready: ${LINK}`],
    );
    const states = world.read(DOCS)[0]?.match(/^(✅|❓ See the follow-up's result)/gmu);
    expect(states?.map(([symbol]) => symbol)).toEqual(turns ? ["✅", "✅"] : ["❓", "✅"]);
    expect(world.slack.ephemerals()).toEqual([]);
  });

  it("ends as it ends itself, not as the turn before it, where the service takes one after the other and tells nothing of turns", async () => {
    await using world = await World.start({ jobService: {} });
    const { service } = world;
    const root = await ask(world);
    await reply(world, root, "and the FAQ");
    await reply(world, root, "and the glossary", ANA);
    await world.until(() => service.messages.length === 2);
    await world.pass(2 * MINUTE_MS);
    const job = service.jobs.get(jobOf(world));
    if (job === undefined) throw new Error("no job");
    const end = async (outcome: Parameters<typeof service.finish>[1]) => {
      service.finish(job.id, outcome);
      await world.pass(MINUTE_MS / 2);
      job.status = "active";
      await world.pass(3 * MINUTE_MS);
      return said(world, root).map(([line]) => line);
    };
    const first = `✅ @Ana Your pull request is ready: ${LINK}`;
    expect(await end({ status: "completed", prLink: PR })).toEqual([first]);
    const second = "❌ @Ben The agent couldn't finish.";
    expect(await end({ status: "failed" })).toEqual([first, second]);
    expect(await end({ status: "completed" })).toEqual([
      first,
      second,
      `✅ @Ana The agent finished. ${LINK} may have new commits.`,
    ]);
    await world.pass(60 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(3);
  });

  it("by several people: each gets an outcome of their own, and the next one a message of its own", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const root = await ask(world);
    for (let n = 1; n <= 7; n += 1) await reply(world, root, `page ${n}`, n % 2 === 0 ? ANA : BEN);
    await world.until(() => service.messages.length === 7);
    expect(service.messages.map(({ prompt }) => prompt)).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((n) => `page ${n}`),
    );
    await world.until(() => world.read(DOCS)[0]?.includes("page 7"));
    expect(world.read(DOCS)[0]).toContain("2 earlier follow-ups");
    expect(world.read(DOCS)[0]).not.toContain("page 2");
    for (const turn of service.jobs.get(jobOf(world))?.turns ?? []) {
      Object.assign(turn, { status: "ended", outcome: "no-changes" });
    }
    service.finish(jobOf(world), { status: "completed" });
    await world.until(() => said(world, root).length === 8);
    await reply(world, root, "page 8");
    await world.until(() => said(world, root)[8]?.[0] === SENT);
    await world.pass(10 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(9);
    expect(world.read(DOCS)[0]?.match(/➖ No changes/g)).toHaveLength(5 + 1);
  });

  it("survives restarts", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const root = await ask(world);
    await world.settle();
    await world.stopApp();
    await world.startApp();
    await reply(world, root, "and the FAQ");
    await world.settle();
    await world.stopApp();
    await world.startApp();
    await world.until(() => service.messages.length === 1);
    await world.stopApp();
    const [first] = service.jobs.get(jobOf(world))?.turns ?? [];
    Object.assign(first ?? {}, { status: "ended", outcome: "pull-request", ...reportOfLink("The first.") });
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.startApp();
    await world.until(() => said(world, root).length === 2);
    await world.pass(10 * MINUTE_MS);
    expect(said(world, root).map(([line]) => line)).toEqual([
      "✅ @Ana Your pull request is ready:",
      `✅ @Ben The agent updated ${LINK}:`,
    ]);
    expect([service.creates.length, service.messages.length]).toEqual([1, 1]);
  });

  it("moves to a direct message with its outcome where the thread is gone", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service, slack } = world;
    const root = await ask(world);
    await reply(world, root, "and the FAQ");
    await world.until(() => world.read(DOCS)[0]?.endsWith(SENT));
    slack.workspace.kick(DOCS);
    for (const turn of service.jobs.get(jobOf(world))?.turns ?? []) {
      Object.assign(turn, { status: "ended", outcome: "no-changes" });
    }
    service.finish(jobOf(world), { status: "completed" });
    await world.until(() => slack.dm(BEN).length === 1 && slack.dm(ANA).length === 1);
    const lines = slack.visibleText(slack.dm(BEN)[0]!).split("\n");
    expect(lines).toContain("➖ @Ben No changes made.");
    expect(lines).toContain("and the FAQ");
  });
});
