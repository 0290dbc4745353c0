import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { DISTRIBUTED_APP } from "../../world/slack/index.ts";
import { readiness } from "../support/app-process.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const HOUR_MS = 3_600_000;

/** What Slack calls that show something to people. */
const SHOWING = ["chat.postMessage", "chat.postEphemeral", "chat.update", "conversations.open"];

/** Slack answers these calls with an error code until the returned function is called. */
function refuse(world: World, methods: string[], error: string): () => void {
  const stops = methods.map((method) =>
    world.slack.faults.add({ method, times: Number.POSITIVE_INFINITY, fault: { kind: "error", error } }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

function privately(world: World, userId = ANA): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

function dm(world: World, userId = ANA): string[] {
  return world.slack.dm(userId).map((message) => world.slack.visibleText(message));
}

describe("while Slack takes nothing but answers, a command is answered at once:", () => {
  const KEPT = "Got it. Your request is saved, but Slack won't let me post yet. No need to resend.";

  it.each([
    ["503", { kind: "http", status: 503 }],
    ["429", { kind: "ratelimited", retryAfterS: 30 }],
  ] as const)("%s", async (_, fault) => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const times = Number.POSITIVE_INFINITY;
    const faults = ["*", "response_url"].map((method) => world.slack.faults.add({ method, times, fault }));
    await world.slack.person(ANA).command({ channel: DOCS, text: "" });
    expect(privately(world)).toEqual([
      "I couldn't open the form. Try again, or type your request after `/docs-agent`.",
    ]);
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    expect(privately(world).slice(1)).toEqual([KEPT]);

    // Whoever has read it isn't told again.
    for (const recover of faults) recover();
    await world.pass(HOUR_MS);
    expect(privately(world).slice(1)).toEqual([KEPT]);
    expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
  });

  it("no answer at all, also to who somebody is", async () => {
    await using world = await World.start();
    world.slack.faults.add({ method: "*", times: Number.POSITIVE_INFINITY, fault: { kind: "hang" } });
    for (const [person, text] of [
      [ANA, "fix it"],
      [BEN, ""],
    ] as const) {
      const { status } = await world.slack.person(person).command({ channel: DOCS, text });
      expect(status).toBe(200);
    }
  });

  it("not over a connection that has ended, which the app survives", { tags: "all" }, async () => {
    await using world = await World.start({ socketMode: true });
    const { slack, logger } = world;
    await expect.poll(() => slack.socketMode.connections).toBe(1);
    const hang = { method: "views.open", times: Number.POSITIVE_INFINITY, fault: { kind: "hang" } } as const;
    const stop = slack.faults.add(hang);
    const asked = slack.person(ANA).command({ channel: DOCS, text: "" });
    await expect.poll(() => slack.calls.map(({ method }) => method)).toContain("views.open");
    slack.socketMode.drop();
    await asked;
    await expect
      .poll(() => logger.text("warn"), { timeout: 5_000 })
      .toContain("could not acknowledge a command");
    stop();
  });

  it("not while Slack takes it", async () => {
    await using world = await World.start();
    await world.slack.person(ANA).command({ channel: DOCS, text: "" });
    expect(world.slack.openViews(ANA)).toHaveLength(1);
    for (const text of ["fix it", "fix the FAQ"])
      await world.slack.person(ANA).command({ channel: DOCS, text });
    expect(privately(world)).toEqual([]);
  });
});

it("whoever asked is told of it where they look: in a thread only if they asked in one", async () => {
  await using world = await World.start();
  const { slack } = world;
  const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "wrong again" });
  refuse(world, ["chat.postMessage"], "service_unavailable");
  await slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
  await slack.person(ANA).mention({ channel: DOCS, threadTs: root.ts, text: "fix that" });
  await world.pass(60_000);
  expect(slack.ephemerals(ANA).map(({ thread_ts }) => thread_ts)).toEqual([undefined, root.ts]);

  for (const text of ["help", "project=nope x"]) {
    await slack.person(BEN).mention({ channel: DOCS, text });
    await slack.person(BEN).mention({ channel: DOCS, threadTs: root.ts, text });
  }
  await world.pass(60_000);
  const shown = slack.ephemerals(BEN).map(({ thread_ts }) => thread_ts);
  expect(shown).toEqual([undefined, root.ts, undefined, root.ts]);
});

describe("an error code that nobody knows", () => {
  it.each(["team_access_not_granted", "ekm_access_denied", "some_new_error"])(
    "(%s), answered to everything for hours, costs nothing: status message and outcome arrive when Slack is back",
    { tags: "all" },
    async (error) => {
      await using world = await World.start();
      world.service.script.completeAfterPolls(1, { prLink: PR });
      const recover = refuse(world, SHOWING, error);
      const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
      await world.pass(3 * HOUR_MS);
      expect(world.replies(DOCS, message.ts)).toEqual([]);
      // The agent did not wait for Slack.
      expect(world.service.creates).toHaveLength(1);
      expect((await readiness(world.appUrl)).tasks.dead).toBe(0);

      recover();
      await world.pass(HOUR_MS);
      const replies = world.replies(DOCS, message.ts).map((reply) => world.slack.visibleText(reply));
      expect(replies).toHaveLength(2);
      expect(replies[1]).toContain("Your pull request is ready");
      expect(world.slack.dm(ANA)).toEqual([]);
    },
  );

  it("answered while a job ends, keeps the outcome until Slack takes it", { tags: "all" }, async () => {
    await using world = await World.start();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.service.gets.length === 1);
    const recover = refuse(world, SHOWING, "some_new_error");
    world.service.finish(world.service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await world.pass(5 * HOUR_MS);
    expect(world.read(DOCS)).toHaveLength(1);
    recover();
    await world.pass(HOUR_MS);
    expect(world.read(DOCS)).toHaveLength(2);
    expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
    expect(world.read(DOCS)[0]).toContain("✅ acme/docs#");
  });

  it.each(["conversations.open", "chat.postMessage"])(
    "answered to %s, does not lose a direct message",
    { tags: "all" },
    async (method) => {
      await using world = await World.start();
      world.service.script.completeAfterPolls(1, { prLink: PR });
      const stop = world.slack.faults.add({
        method,
        times: Number.POSITIVE_INFINITY,
        when: ({ args }) => args["channel"] !== RANDOM,
        fault: { kind: "error", error: "some_new_error" },
      });
      // The bot is not there, so the person gets a direct message.
      await world.slack.person(ANA).command({ channel: RANDOM, text: "fix it" });
      await world.pass(5 * HOUR_MS);
      expect(dm(world)).toEqual([]);
      stop();
      await world.pass(HOUR_MS);
      expect(dm(world)).toEqual([
        expect.stringContaining("fix it"),
        expect.stringContaining("Your pull request is ready"),
      ]);
    },
  );

  it("no_permission everywhere for a moment loses nothing", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const recover = refuse(world, ["chat.postMessage", "conversations.open"], "no_permission");
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.pass(2_000);
    recover();
    const again = refuse(world, ["chat.postMessage"], "no_permission");
    await world.pass(4_000);
    again();
    await world.pass(HOUR_MS);
    const all = [...world.read(DOCS), ...dm(world)];
    expect(all).toEqual([
      expect.stringContaining("fix it"),
      expect.stringContaining("Your pull request is ready"),
    ]);
  });

  it(
    "answered to the direct message that says a request was lost, only delays it",
    { tags: "all" },
    async () => {
      await using world = await World.start();
      await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await world.until(() => world.service.gets.length === 1);
      await world.stopApp();
      const db = new DatabaseSync(world.storePath);
      db.prepare("UPDATE kv SET value = ? WHERE key LIKE 'turn:%'").run('{"value":{"version":99}}');
      db.close();
      await world.startApp();
      const recover = refuse(world, ["chat.postMessage", "conversations.open"], "some_new_error");
      await world.pass(5 * HOUR_MS);
      expect(dm(world)).toEqual([]);
      recover();
      await world.pass(HOUR_MS);
      expect(dm(world)).toEqual([expect.stringContaining("I lost track of your request in #docs")]);
    },
  );
});

describe("updates that fail for a day", () => {
  it("hold up no status message and no outcome, and are made up for", { tags: "nightly" }, async () => {
    await using world = await World.start();
    const { slack, service } = world;
    const stop = slack.faults.add({
      method: "chat.update",
      times: Number.POSITIVE_INFINITY,
      fault: { kind: "error", error: "internal_error" },
    });
    for (const page of ["one", "two", "three"]) {
      await slack.person(ANA).command({ channel: DOCS, text: `fix page ${page}` });
      await world.pass(2000);
      const root = slack.messages(DOCS).find((message) => slack.visibleText(message).includes(page));
      expect(root === undefined ? "" : slack.visibleText(root)).toContain(`fix page ${page}`);
      const job = service.creates.find(({ prompt }) => prompt.endsWith(page));
      service.finish(job?.jobId ?? "", { status: "completed", prLink: PR });
      await world.pass(10_000);
      expect(world.replies(DOCS, root?.ts ?? "")).toHaveLength(1);
      await world.pass(7 * HOUR_MS);
    }
    expect(slack.calls.filter(({ method, result }) => method === "chat.update" && result === "ok")).toEqual(
      [],
    );
    stop();
    await world.pass(HOUR_MS);
    const roots = slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
    expect(roots.map((root) => slack.visibleText(root))).toEqual(
      ["one", "two", "three"].map(() => expect.stringContaining("✅ acme/docs#") as unknown),
    );
  });
});

it("an hour of faults at Slack, and then a few that nobody foresaw, do not end a delivery", async () => {
  let surprises = 0;
  const random = () => {
    // Every other call, so that what handles the first surprise can do its work.
    if (surprises > 0 && surprises-- % 2 === 0) throw new TypeError("a fault in the program");
    return 0.5;
  };
  await using world = await World.start({ random });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => world.service.gets.length === 1);
  const recover = refuse(world, ["chat.postMessage"], "internal_error");
  world.service.finish(world.service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
  await world.pass(HOUR_MS);
  surprises = 10;
  await world.pass(HOUR_MS);
  expect(surprises).toBe(0);
  expect(world.logger.text("error")).toContain("task threw; it will be tried again");
  recover();
  await world.pass(HOUR_MS);
  expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
  expect((await readiness(world.appUrl)).tasks.dead).toBe(0);
});

describe("an answer to a post that is lost", () => {
  // What Slack grants to apps that are distributed outside its Marketplace, slow to show what was posted, and the clock of this
  // machine is ten minutes ahead of Slack's. (Requests over HTTP would be refused for their time; sockets have none.)
  const unlimited = { history: undefined, maxHistoryMessages: undefined };
  const slowSlack = { ...DISTRIBUTED_APP, visibleAfterMs: 6_000, clockAheadMs: -600_000 };

  it.each([
    ["fifteen messages a minute, six seconds late", slowSlack],
    ["as many as are asked for, ten seconds late", { ...slowSlack, ...unlimited, visibleAfterMs: 10_000 }],
  ])(
    "leads to one root message and one outcome where Slack shows %s",
    { tags: "all" },
    async (_, slackLimits) => {
      await using world = await World.start({ socketMode: true, slackLimits });
      const { slack, service } = world;
      slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await world.until(() => slack.messages(DOCS).length === 1);
      for (let n = 0; n < 40; n += 1) slack.workspace.say({ channel: DOCS, user: BEN, text: `chat ${n}` });
      await world.pass(HOUR_MS);
      const [root] = slack.messages(DOCS);
      expect(world.read(DOCS).filter((text) => text.includes("fix it"))).toHaveLength(1);

      slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
      service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
      await world.until(() => world.replies(DOCS, root?.ts ?? "").length === 1);
      await world.pass(HOUR_MS);
      expect(world.replies(DOCS, root?.ts ?? "")).toHaveLength(1);
      expect(world.read(DOCS)[0]).toContain("✅ acme/docs#");
    },
  );

  it(
    "leads to one root message also where Slack's time was not known when it was sent",
    { tags: "all" },
    async () => {
      await using world = await World.start({
        socketMode: true,
        slackLimits: slowSlack,
        prepare: ({ slack }) => slack.faults.add({ method: "auth.test", fault: { kind: "drop-before" } }),
      });
      const { slack } = world;
      slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await world.pass(HOUR_MS);
      expect(world.read(DOCS)).toHaveLength(1);
    },
  );

  it("leads to one status message and one outcome in a thread that is full of other replies", async () => {
    await using world = await World.start({ socketMode: true, slackLimits: slowSlack });
    const { slack, service } = world;
    const parent = slack.workspace.say({ channel: DOCS, user: BEN, text: "the FAQ is wrong" });
    const chat = (times: number) => {
      for (let n = 0; n < times; n += 1) {
        slack.workspace.say({ channel: DOCS, user: BEN, text: `me too ${n}`, threadTs: parent.ts });
      }
    };
    chat(60);
    for (const replies of [1, 2]) {
      slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
      if (replies === 1) {
        await slack.person(ANA).mention({ channel: DOCS, text: "fix it", threadTs: parent.ts });
      } else {
        service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
      }
      await world.until(() => world.replies(DOCS, parent.ts).length === replies);
      chat(20);
      await world.pass(HOUR_MS);
      expect(world.replies(DOCS, parent.ts)).toHaveLength(replies);
    }
    const [status, outcome] = world.replies(DOCS, parent.ts).map((message) => slack.visibleText(message));
    expect(status).toContain("✅ acme/docs#");
    expect(outcome).toContain("Your pull request is ready");
  });
});

it("without the scope im:write, direct messages arrive and are updated all the same", async () => {
  await using world = await World.start({ withoutScopes: ["im:write"] });
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: RANDOM, text: "fix it" });
  await world.until(() => service.gets.length === 1);
  expect(dm(world)).toEqual([expect.stringContaining("The agent is working")]);
  service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
  await world.pass(HOUR_MS);
  expect(dm(world)).toEqual([
    expect.stringContaining("✅ acme/docs#"),
    expect.stringContaining("Your pull request is ready"),
  ]);
  expect(slack.calls.filter(({ method, result }) => method === "chat.update" && result !== "ok")).toEqual([]);
});

describe("that a request is saved", () => {
  it("is said privately after three seconds in which Slack did not take the status message", async () => {
    await using world = await World.start();
    world.slack.faults.add({
      method: "chat.postMessage",
      fault: { kind: "ratelimited", retryAfterS: 30 },
    });
    const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
    await world.pass(2_900);
    expect(privately(world)).toEqual([]);
    world.clock.advance(200);
    await world.slack.until(() => privately(world).length === 1);
    expect(privately(world)[0]).toContain("Your request is saved, but Slack won't let me post yet");
    expect(privately(world, BEN)).toEqual([]);
    // The agent is at work meanwhile.
    await world.until(() => world.service.creates.length === 1, 1000);
    await world.pass(60_000);
    expect(world.replies(DOCS, message.ts)).toHaveLength(1);
    expect(privately(world)).toHaveLength(1);
  });

  it("is not said where the status message is there in time", async () => {
    await using world = await World.start();
    world.slack.faults.add({ method: "chat.postMessage", fault: { kind: "ratelimited", retryAfterS: 2 } });
    const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
    await world.pass(60_000);
    expect(world.replies(DOCS, message.ts)).toHaveLength(1);
    expect(privately(world)).toEqual([]);
  });
});

it("the job is created and ends while Slack takes nothing at all, and both are told in order afterwards", async () => {
  await using world = await World.start();
  const { slack, service } = world;
  service.script.completeAfterPolls(1, { prLink: PR });
  // Slack has said before that Ana is a member.
  await slack.person(ANA).command({ channel: DOCS, text: "help" });
  const stop = slack.faults.add({
    method: "*",
    times: Number.POSITIVE_INFINITY,
    fault: { kind: "http", status: 503 },
  });
  await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.pass(1000);
  expect(service.creates).toHaveLength(1);
  await world.pass(HOUR_MS);
  expect(service.gets).toHaveLength(1);
  expect(world.read(DOCS)).toEqual([]);
  stop();
  await world.pass(HOUR_MS);
  expect(world.read(DOCS)).toEqual([
    expect.stringContaining("fix it"),
    expect.stringContaining("Your pull request is ready"),
  ]);
});
