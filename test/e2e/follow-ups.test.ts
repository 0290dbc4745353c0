import { describe, expect, it } from "vitest";
import { SERVICE_KINDS } from "../support/service-kinds.ts";
import {
  LINK,
  MINUTE_MS,
  PR,
  SENT,
  ask,
  done,
  jobOf,
  reply,
  said,
  reportOfLink,
  askedFor,
} from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

describe.each(SERVICE_KINDS)("a mention in a job's thread, with %s", (_, jobService) => {
  const turns = jobService.level === 1;

  it("goes to that job, and ends in an outcome of its own", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await done(world);
    await reply(world, root, "and the FAQ");
    await world.until(() => service.messages.length === 1);
    expect(service.messages).toMatchObject([{ jobId: jobOf(world), prompt: "and the FAQ" }]);
    await world.until(() => said(world, root)[1]?.[0] === SENT);
    await world.pass(5 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(2);

    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink("The FAQ, too.") });
    // Its status message goes once the outcome stands.
    await world.until(() => said(world, root).at(-1)?.[0]?.startsWith("✅ @Ben") === true);
    await world.until(() => said(world, root).length === 2);
    expect(said(world, root)[1]).toEqual(
      turns
        ? [
            `✅ @Ben The agent updated ${LINK}:`,
            "Correct the install command",
            "The FAQ, too.",
            "3 files, +12 −4",
            "[View pull request] [Show changes]",
          ]
        : [`✅ @Ben The agent finished. ${LINK} may have new commits.`, "[View pull request]"],
    );
    await world.pass(60 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(2);
    expect(service.creates).toHaveLength(1);
    expect(service.messages).toHaveLength(1);
  });

  it("never ends with how the turn before it ended, which polls may still show", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await done(world);
    service.script.staleReadsAfterMessage(4);
    await reply(world, root, "and the FAQ");
    await world.until(() => service.messages.length === 1);
    await world.pass(5 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(2);
    service.finish(jobOf(world), { status: "failed", turn: { reason: "Out of money." } });
    await world.until(() => said(world, root).length === 3);
    expect(said(world, root)[2]?.[0]).toBe("❌ @Ben The agent couldn't finish.");
  });

  it("is announced where it is as quick as one poll", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await done(world);
    service.script.completeAfterPolls(1, { prLink: PR });
    await reply(world, root, "and the FAQ");
    const end = turns ? "@Ben The agent updated" : "@Ben The agent finished";
    await world.until(() => said(world, root).at(-1)?.[0]?.includes(end) === true, 2 * MINUTE_MS);
    await world.pass(60 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(2);
    expect(said(world, root)[1]?.[0]).toContain(end);
  });

  it("brings a new pull request in the usual words", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await ask(world);
    service.finish(jobOf(world), { status: "completed" });
    await world.until(() => said(world, root).length === 1);
    await reply(world, root, "it is on the FAQ page");
    await world.until(() => service.messages.length === 1);
    service.finish(jobOf(world), { status: "completed", prLink: PR });
    // It differs from what was there before, so there is no doubt whose it is.
    await world.until(() => said(world, root).length === 3, MINUTE_MS / 2);
    expect(said(world, root)[2]?.[0]).toBe(`✅ @Ben Your pull request is ready: ${LINK}`);
  });

  it("starts a new job where the old one is archived, and says so", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await done(world);
    service.finish(jobOf(world), { status: "archived" });
    await reply(world, root, "and the FAQ");
    await world.until(() => service.creates.length === 2);
    expect(askedFor(service.creates[1] ?? { prompt: "" })).toBe("and the FAQ");
    expect(service.messages).toEqual([]);
    await world.until(() => said(world, root)[1]?.[0] === "That request is closed, so I started a new one.");
    service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => said(world, root).length === 3);
    expect(said(world, root)[2]?.[0]).toContain("@Ben Your pull request is ready");
    // The next one is for the new job.
    await reply(world, root, "and the glossary", ANA);
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]?.jobId).toBe(jobOf(world));
  });

  it("starts a new job where the service has forgotten the old one", async () => {
    await using world = await World.start({ jobService });
    const { service } = world;
    const root = await done(world);
    service.forget(jobOf(world));
    await reply(world, root, "and the FAQ");
    await world.until(() => said(world, root)[1]?.[0] === "That request is closed, so I started a new one.");
    expect(service.creates.map(askedFor)).toEqual(["fix the install page", "and the FAQ"]);
  });
});

describe("a mention in a job's thread", () => {
  it.each([
    [400, "archived"],
    [409, "archived"],
    [410, "archived"],
    [422, "archived"],
    [400, "forgotten"],
  ])("starts a new job where the service answers %i because the old one is %s", async (status, why) => {
    await using world = await World.start();
    const { service } = world;
    const root = await done(world);
    if (why === "archived") service.finish(jobOf(world), { status: "archived" });
    else service.forget(jobOf(world));
    service.faults.add({ op: "message", fault: { kind: "status", status } });
    await reply(world, root, "and the FAQ");
    await world.until(() => said(world, root)[1]?.[0] === "That request is closed, so I started a new one.");
    expect(service.creates.map(askedFor)).toEqual(["fix the install page", "and the FAQ"]);
  });

  it("that begins with `new` starts a job of its own", async () => {
    await using world = await World.start();
    const { service } = world;
    const root = await done(world);
    await reply(world, root, "new: fix the glossary");
    await world.until(() => service.creates.length === 2);
    expect(askedFor(service.creates[1] ?? { prompt: "" })).toBe("fix the glossary");
    expect(service.messages).toEqual([]);
    // It is the thread's newest now.
    await reply(world, root, "and its links");
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]?.jobId).toBe("job_2");
  });

  it.each([
    ["completed", "➖ @Ben The agent finished, and there's no pull request."],
    ["failed", "❌ @Ben The agent couldn't finish, or hasn't started on this."],
  ] as const)("claims nothing of it where the job stays as it was left: %s", async (status, words) => {
    await using world = await World.start();
    const { service } = world;
    const root = await ask(world);
    service.finish(jobOf(world), { status });
    await world.until(() => said(world, root).length === 1);
    service.script.staleReadsAfterMessage(1000);
    await reply(world, root, "and the FAQ");
    await world.until(() => said(world, root).length === 3, 3 * MINUTE_MS);
    expect(said(world, root)[2]?.[0]).toBe(words);
    await world.pass(60 * MINUTE_MS);
    expect(said(world, root)).toHaveLength(3);
  });

  it("waits for a job that isn't there yet, in order", async () => {
    await using world = await World.start();
    const { service, slack } = world;
    await service.down();
    const { message } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => world.replies(DOCS, message.ts).length === 1);
    await reply(world, message, "one");
    await reply(world, message, "two", ANA);
    await world.pass(5 * MINUTE_MS);
    await service.up();
    await world.until(() => service.messages.length === 2);
    expect(service.creates).toHaveLength(1);
    expect(service.messages.map(({ prompt }) => prompt)).toEqual(["one", "two"]);
  });

  it("becomes a create where there will be no job", async () => {
    await using world = await World.start();
    const { service, slack } = world;
    await service.down();
    const { message } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => world.replies(DOCS, message.ts).length === 1);
    await reply(world, message, "and the glossary");
    service.faults.add({ op: "create", times: 1, fault: { kind: "status", status: 400 } });
    await service.up();
    await world.until(() => service.creates.length === 1);
    expect(askedFor(service.creates[0] ?? { prompt: "" })).toBe("and the glossary");
    expect(service.messages).toEqual([]);
  });

  it("is sent once, however often Slack delivers it", async () => {
    await using world = await World.start();
    const { service, slack } = world;
    const root = await done(world);
    const { delivery } = await slack.person(BEN).mention({ channel: DOCS, threadTs: root.ts, text: "more" });
    if (delivery === undefined) throw new Error("the bot is not in the channel");
    await world.until(() => service.messages.length === 1);
    await slack.redeliver(delivery, { retryNum: 1 });
    await world.pass(5 * MINUTE_MS);
    expect(service.messages).toHaveLength(1);
    expect(said(world, root)).toHaveLength(2);
  });

  it("whose answer is lost is not sent twice; Try again repeats it, to the same job", async () => {
    await using world = await World.start();
    const { service, slack } = world;
    const root = await done(world);
    service.faults.add({ op: "message", times: 1, fault: { kind: "drop-before" } });
    await reply(world, root, "and the FAQ");
    await world.until(() => said(world, root).length === 3);
    expect(said(world, root)[2]?.[0]).toBe(
      "❓ @Ben I sent your request but got no answer, so it may be running.",
    );
    expect(service.messages).toEqual([]);
    const lost = world.replies(DOCS, root.ts)[2];
    await slack.person(ANA).click({ channel: DOCS, messageTs: lost?.ts ?? "", actionId: "try_again" });
    await world.until(() => service.messages.length === 1);
    expect(service.messages[0]).toMatchObject({ jobId: "job_1", prompt: "and the FAQ" });
    expect(service.creates).toHaveLength(1);
  });

  it("is sent again where the service honors keys, and runs once", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const root = await done(world);
    service.faults.add({ op: "message", times: 1, fault: { kind: "drop-after" } });
    await reply(world, root, "and the FAQ");
    await world.until(() => said(world, root)[1]?.[0] === SENT);
    await world.pass(5 * MINUTE_MS);
    expect(service.messages).toHaveLength(1);
    expect(service.calls.filter(({ op }) => op === "message")).toHaveLength(2);
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.until(() => said(world, root).at(-1)?.[0] === `✅ @Ben The agent updated ${LINK}:`);
  });

  it("of another project starts a job there; of the same one it is a follow-up", async () => {
    const two = { docs: { apiKey: "mint_a" }, api: { apiKey: "mint_b" } };
    await using world = await World.start({
      jobService: { projects: two },
      env: {
        DOCS_AGENT_PROJECT_ID: undefined,
        DOCS_AGENT_PROJECTS: JSON.stringify([
          { name: "docs", id: "docs", apiKey: "mint_a" },
          { name: "api", id: "api", apiKey: "mint_b" },
        ]),
      },
    });
    const { service } = world;
    const root = await ask(world, "project=api fix the errors page");
    service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => said(world, root).length === 1);
    await reply(world, root, "and its links");
    await reply(world, root, "project=api and its title");
    await world.until(() => service.messages.length === 2);
    expect(service.messages.every(({ projectId, jobId }) => projectId === "api" && jobId === "job_1")).toBe(
      true,
    );
    await reply(world, root, "project=docs the same in the guide");
    await world.until(() => service.creates.length === 2);
    expect(service.creates[1]?.projectId).toBe("docs");
    expect(askedFor(service.creates[1] ?? { prompt: "" })).toBe("the same in the guide");
  });
});
