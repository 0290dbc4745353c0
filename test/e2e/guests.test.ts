import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { NewUser } from "../../world/slack/index.ts";
import { MINUTE_MS, ask, done, jobOf, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";
import type { WorldOptions } from "../support/world.ts";

const GUS = "U0GUS";
const REFUSED = "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.";
const NOT_NOW = "I can't check right now whether you're a member of this workspace. Try again in a minute.";
const WORDS = "the zebra page";

const OUTSIDERS: [string, Partial<NewUser>][] = [
  ["a guest", { guest: "multi-channel" }],
  ["a guest of a single channel", { guest: "single-channel" }],
  ["somebody of another organization", { home: { teamId: "T0OTHER", enterpriseId: "E0OTHER" } }],
];

/** A world with Gus in #docs, who is no member unless `who` says so. */
async function start(who: Partial<NewUser>, options: WorldOptions = {}): Promise<World> {
  const world = await World.start(options);
  world.slack.workspace.addUser({ id: GUS, name: "gus", displayName: "Gus", ...who });
  world.slack.workspace.invite(DOCS, GUS);
  return world;
}

function privately(world: World, userId = GUS): string[] {
  return world.slack.ephemerals(userId).map((shown) => world.slack.visibleText(shown));
}

function sent(world: World): string[] {
  return [...world.service.creates, ...world.service.messages].map(({ prompt }) => prompt);
}

const WAYS_IN: Record<string, (world: World) => Promise<unknown>> = {
  "a command": (world) => world.slack.person(GUS).command({ channel: DOCS, text: WORDS }),
  "the form's command": (world) => world.slack.person(GUS).command({ channel: DOCS }),
  help: (world) => world.slack.person(GUS).command({ channel: DOCS, text: "help" }),
  "a mention": async (world) => {
    const { delivery } = await world.slack.person(GUS).mention({ channel: DOCS, text: WORDS });
    if (delivery !== undefined) await world.slack.redeliver(delivery, { retryNum: 1 });
  },
  "a shortcut": async (world) => {
    const { ts } = world.slack.workspace.say({ channel: DOCS, user: GUS, text: WORDS });
    await world.slack.person(GUS).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: ts });
    expect(world.slack.openViews(GUS)).toEqual([]);
  },
  "a follow-up": async (world) => {
    const root = await done(world);
    await reply(world, root, WORDS, GUS);
  },
  "Try again": async (world) => {
    const root = await ask(world);
    world.service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, root.ts)[0]);
    const click = { channel: DOCS, messageTs: failed.ts, actionId: "try_again" };
    expect((await world.slack.person(GUS).click(click)).status).toBe(200);
  },
};

describe.each(OUTSIDERS)("%s", (_, who) => {
  it.each(Object.keys(WAYS_IN))("is refused, once: %s", async (way) => {
    await using world = await start(who);
    const others = () => sent(world).filter((prompt) => prompt !== "fix the install page");
    await WAYS_IN[way]?.(world);
    await world.settle();
    await world.slack.until(() => privately(world).length > 0);
    await world.pass(5 * MINUTE_MS);
    expect(privately(world)).toEqual([REFUSED]);
    expect(others()).toEqual([]);
    expect(world.service.creates.length).toBeLessThanOrEqual(1);
    expect(world.logger.text("error")).toBe("");
    await world.stopApp();
    if (way !== "Try again") expect(await world.stored()).not.toContain("zebra");
  });
});

describe("a guest", () => {
  it("who opened the form as a member is told so in the form", async () => {
    await using world = await start({});
    await world.slack.person(GUS).command({ channel: DOCS });
    const form = await world.form(GUS);
    world.slack.workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
    await world.pass(6 * MINUTE_MS);
    await world.slack
      .person(GUS)
      .submit({ viewId: form.id, values: { instructions: { instructions: WORDS } } });
    expect((await world.form(GUS)).errors).toEqual({ instructions: REFUSED });
    await world.pass(MINUTE_MS);
    expect(sent(world)).toEqual([]);
  });

  it.each(["ask", "requester"])("who talks in a job's thread hears nothing (%s)", async (policy) => {
    await using world = await start({ guest: "multi-channel" }, { env: { FOLLOW_UPS: policy } });
    const root = await done(world);
    await world.slack.person(GUS).say({ channel: DOCS, threadTs: root.ts, text: WORDS });
    await world.pass(MINUTE_MS);
    expect(privately(world)).toEqual([]);
    await world.stopApp();
    expect(await world.stored()).not.toContain("zebra");
  });

  it("may open a link", async () => {
    await using world = await start({ guest: "multi-channel" });
    const root = await done(world);
    const [outcome] = world.replies(DOCS, root.ts);
    const click = { channel: DOCS, messageTs: outcome?.ts ?? "", actionId: "view_pull_request" };
    expect((await world.slack.person(GUS).click(click)).status).toBe(200);
    await world.settle();
    expect(privately(world)).toEqual([]);
  });

  it.each(OUTSIDERS)("is let in like a member where ALLOW_GUESTS says so: %s", async (_, who) => {
    await using world = await start(who, { env: { ALLOW_GUESTS: "true" } });
    await world.slack.person(GUS).command({ channel: DOCS, text: WORDS });
    await world.until(() => sent(world).length === 1);
    expect(world.slack.calls.filter(({ method }) => method === "users.info")).toEqual([]);
  });
});

it("people of the other workspaces of one's own organization are members", async () => {
  await using world = await start(
    { home: { teamId: "T0SISTER", enterpriseId: "E0OWN" } },
    {
      prepare: ({ slack }) => {
        slack.workspace.team.enterpriseId = "E0OWN";
      },
    },
  );
  await world.slack.person(GUS).mention({ channel: DOCS, text: WORDS });
  await world.until(() => sent(world).length === 1);
  expect(privately(world)).toEqual([]);
});

it("a member is looked up once in five minutes", async () => {
  await using world = await World.start();
  const looks = () => world.slack.calls.filter(({ method }) => method === "users.info").length;
  for (const text of ["one", "two", "three"]) await world.slack.person(BEN).command({ channel: DOCS, text });
  await world.until(() => world.service.creates.length === 3);
  expect(looks()).toBe(1);
  await world.pass(6 * MINUTE_MS);
  await world.slack.person(BEN).command({ channel: DOCS, text: "four" });
  expect(looks()).toBe(2);
});

it("a member of yesterday's is one as long as Slack doesn't answer, for a day", async () => {
  await using world = await World.start();
  world.service.script.completeAfterPolls(1);
  await world.slack.person(BEN).command({ channel: DOCS, text: "one" });
  const fault = { kind: "error", error: "internal_error" } as const;
  world.slack.faults.add({ method: "users.info", times: 1000, fault });
  await world.pass(23 * 60 * MINUTE_MS);
  await world.slack.person(BEN).command({ channel: DOCS, text: "two" });
  await world.until(() => sent(world).length === 2);
  await world.pass(2 * 60 * MINUTE_MS);
  await world.slack.person(BEN).command({ channel: DOCS, text: "three" });
  await world.pass(5 * MINUTE_MS);
  expect(sent(world)).toEqual(["one", "two"]);
});

describe("while Slack doesn't say who somebody is", () => {
  /** Until the returned function is called. */
  function silence(world: World): () => void {
    const fault = { kind: "error", error: "internal_error" } as const;
    return world.slack.faults.add({ method: "users.info", times: 1000, fault });
  }

  it.each(["command", "mention"] as const)(
    "a %s is kept, and nothing leaves Slack before it is known",
    async (way) => {
      await using world = await World.start();
      const end = silence(world);
      await world.slack.person(ANA)[way]({ channel: DOCS, text: WORDS });
      await world.pass(10 * MINUTE_MS);
      await world.stopApp();
      await world.startApp();
      await world.pass(MINUTE_MS);
      expect(sent(world)).toEqual([]);
      end();
      await world.until(() => sent(world).length === 1);
      expect(sent(world)).toEqual([WORDS]);
    },
  );

  it("what a guest asked for is refused in the end, and their words are gone", async () => {
    await using world = await start({ guest: "multi-channel" });
    const end = silence(world);
    await world.slack.person(GUS).command({ channel: DOCS, text: WORDS });
    await world.pass(10 * MINUTE_MS);
    end();
    const root = await world.until(() => world.slack.messages(DOCS)[0]);
    const told = await world.until(() => world.replies(DOCS, root.ts)[0]);
    expect(world.slack.visibleText(told)).toContain(
      "⛔ @Gus Sorry, only members of this workspace can use Docs Agent.\nYour message stays in Slack.",
    );
    await world.until(() => world.read(DOCS)[0]?.includes("⛔ Refused"));
    expect(sent(world)).toEqual([]);
    // SQLite's files as they lie on the disk, while the app runs.
    await world.pass(2 * MINUTE_MS);
    for (const file of [world.storePath, `${world.storePath}-wal`].filter((path) => existsSync(path))) {
      expect(readFileSync(file).includes("zebra")).toBe(false);
    }
    await world.stopApp();
    expect(await world.stored()).not.toContain("zebra");
  });

  it("a guest's mention shows in the end that it is refused", async () => {
    await using world = await start({ guest: "multi-channel" });
    const end = silence(world);
    const { message } = await world.slack.person(GUS).mention({ channel: DOCS, text: WORDS });
    const under = () => {
      const { reactions = [] } = world.slack.messages(DOCS).find(({ ts }) => ts === message.ts) ?? {};
      return reactions.map(({ name }) => name);
    };
    await world.until(() => under().includes("eyes"));
    end();
    await world.until(() => world.replies(DOCS, message.ts).length === 2);
    await world.pass(MINUTE_MS);
    expect(under()).toEqual(["x"]);
  });

  it("a request is refused when Slack hasn't said it until the deadline", async () => {
    await using world = await World.start({ env: { JOB_DEADLINE_MS: String(60 * MINUTE_MS) } });
    silence(world);
    await world.slack.person(ANA).command({ channel: DOCS, text: WORDS });
    await world.pass(65 * MINUTE_MS);
    expect(world.read(DOCS)[1]).toContain(
      "I couldn't check whether you're a member of this workspace, so I sent nothing.\nAsk again.",
    );
    expect(sent(world)).toEqual([]);
  });

  it("a button waits for whoever presses it", async () => {
    await using world = await World.start();
    const root = await ask(world);
    world.service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, root.ts)[0]);
    const end = silence(world);
    const press = () =>
      world.slack.person(BEN).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    // Where even that can't be said, Slack marks the button.
    world.slack.faults.add({ method: "response_url", fault: { kind: "ratelimited", retryAfterS: 30 } });
    expect((await press()).status).not.toBe(200);
    await press();
    await world.slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)).toEqual([NOT_NOW]);
    end();
    await world.pass(MINUTE_MS);
    await press();
    await world.until(() => sent(world).length === 2);
  });

  it("one call that fails decides nothing about somebody who isn't known yet", async () => {
    await using world = await World.start();
    const root = await ask(world);
    world.service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, root.ts)[0]);
    const fault = { kind: "error", error: "internal_error" } as const;
    world.slack.faults.add({ method: "users.info", when: ({ args }) => args["user"] === BEN, fault });
    await world.slack.person(BEN).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    await world.until(() => sent(world).length === 2);
    expect(privately(world, BEN)).toEqual([]);
  });

  it("a Slack that is silent holds up no answer", async () => {
    await using world = await World.start();
    world.slack.faults.add({ method: "users.info", fault: { kind: "hang" } });
    const { status, failure } = await world.slack.person(ANA).command({ channel: DOCS, text: WORDS });
    expect([status, failure]).toEqual([200, undefined]);
  });
});

it("nobody is let in where the app may not look people up, and the log says what is missing", async () => {
  const env = { HELP_CONTACT: `<@${GUS}>` };
  await using world = await start({}, { withoutScopes: ["users:read"], env });
  await world.slack.person(ANA).command({ channel: DOCS, text: WORDS });
  await world.slack.person(BEN).mention({ channel: DOCS, text: WORDS });
  await world.pass(5 * MINUTE_MS);
  const text =
    "I can't check who is a member of this workspace, so I can't take requests. Your message stays in Slack. Contact @Gus.";
  expect([...privately(world, ANA), ...privately(world, BEN)]).toEqual([text, text]);
  expect(sent(world)).toEqual([]);
  const lines = world.logger
    .text("error")
    .split("\n")
    .filter((line) => line.includes("ALLOW_GUESTS"));
  expect(lines).toHaveLength(1);
});
