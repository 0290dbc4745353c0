import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { privately } from "../support/presses.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { ask, askedFor, jobOf, MINUTE_MS, PR, reply, reportOfLink, said } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const METHOD = "agents.sessions.setStatus";
const INDICATOR = "assistant.threads.setStatus";
const GUS = "U0GUS";

/** The app is declared as an agent. */
function start(options: WorldOptions = {}): Promise<World> {
  return World.start({ isAgent: true, jobService: OFFERS_EVERYTHING, ...options });
}

/** The statuses that the thread's session got, one after the other. */
function statuses(world: World, { ts }: SlackMessage): unknown[] {
  return world.slack.calls
    .filter(({ method, args, result }) => method === METHOD && args["thread_ts"] === ts && result === "ok")
    .map(({ args }) => args["status"]);
}

function results(world: World, name: string): (string | undefined)[] {
  return world.slack.calls.filter(({ method }) => method === name).map(({ result }) => result);
}

function status(world: World, { ts }: SlackMessage): string | null {
  return world.slack.workspace.threadStatuses.session(DOCS, ts);
}

async function until(world: World, root: SlackMessage, wanted: string): Promise<void> {
  await world.until(() => status(world, root) === wanted);
}

/** Ana's command, at work. */
async function working(world: World): Promise<SlackMessage> {
  const root = await ask(world);
  await until(world, root, "processing");
  return root;
}

function finish(world: World): void {
  world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
}

/** Ben's follow-up, at work. */
async function followedUp(world: World, root: SlackMessage, text: string): Promise<void> {
  await reply(world, root, text);
  await world.until(() => world.service.messages.map(askedFor).includes(text));
  await until(world, root, "processing");
}

async function pressStop(world: World, userId: string, { ts }: SlackMessage) {
  const { status: answer, delivery } = await world.slack
    .person(userId)
    .stopSession({ channel: DOCS, threadTs: ts });
  expect(answer).toBe(200);
  await world.settle();
  return () => world.slack.redeliver(delivery, { resign: true });
}

describe("the session of a thread", () => {
  it("says what the agent does, from the request to the merge and after, and nothing else shows it", async () => {
    await using world = await start();
    const { service } = world;
    const root = await working(world);
    service.tell(jobOf(world), { step: "Read the FAQ" });
    await world.pass(MINUTE_MS);
    service.ask(jobOf(world), { text: "Which page?" });
    await until(world, root, "suspended");
    const [question] = world.replies(DOCS, root.ts);
    await world.slack
      .person(BEN)
      .click({ channel: DOCS, messageTs: question?.ts ?? "", actionId: "answer_choice_1" });
    await until(world, root, "processing");
    finish(world);
    await until(world, root, "active");
    await followedUp(world, root, "and the FAQ");
    finish(world);
    await until(world, root, "active");
    service.follow(jobOf(world), { url: PR, state: "merged" });
    await until(world, root, "closed");
    await followedUp(world, root, "and the glossary");
    service.finish(jobOf(world), { status: "completed", turn: { outcome: "no-changes" } });
    await until(world, root, "active");
    await world.pass(60 * MINUTE_MS);
    expect(statuses(world, root)).toEqual([
      "processing",
      "suspended",
      "processing",
      "active",
      "processing",
      "active",
      "closed",
      "processing",
      "active",
    ]);
    expect(results(world, INDICATOR)).toEqual([]);
    expect(world.logger.text("warn")).not.toContain("Slack");
  });

  it("closes with a pull request that is closed without merging", async () => {
    await using world = await start();
    const root = await working(world);
    finish(world);
    await until(world, root, "active");
    world.service.follow(jobOf(world), { url: PR, state: "closed" });
    await until(world, root, "closed");
    expect(statuses(world, root)).toEqual(["processing", "active", "closed"]);
  });

  it("is kept for hours while a turn runs, also over a restart, and none runs on after its end", async () => {
    await using world = await start();
    const root = await working(world);
    const isShown = () => world.slack.workspace.threadStatuses.hasLoader(DOCS, root.ts);
    for (let hour = 0; hour < 3; hour += 1) {
      await world.pass(59 * MINUTE_MS);
      expect(isShown()).toBe(true);
      await world.stopApp();
      await world.startApp();
    }
    expect(new Set(statuses(world, root))).toEqual(new Set(["processing"]));
    expect(statuses(world, root).length).toBeLessThanOrEqual(12);
    finish(world);
    await until(world, root, "active");
    const before = statuses(world, root).length;
    await world.pass(120 * MINUTE_MS);
    expect([isShown(), statuses(world, root).length]).toEqual([false, before]);
    expect(results(world, INDICATOR)).toEqual([]);
  });

  it("isn't processing while the job service takes nothing", async () => {
    await using world = await start();
    await world.service.down();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const root = await world.until(() => world.slack.messages(DOCS)[0]);
    await world.pass(5 * MINUTE_MS);
    expect(status(world, root)).toBe("active");
    await world.service.up();
    await until(world, root, "processing");
  });

  it.each(["drop-before", "drop-after"] as const)(
    "is true again within a minute if the app dies between the outcome and the status (%s)",
    async (kind) => {
      await using world = await start();
      const root = await working(world);
      const isEnd = ({ args }: { args: Record<string, unknown> }) => args["status"] === "active";
      world.slack.faults.add({ method: METHOD, when: isEnd, fault: { kind } });
      finish(world);
      await world.until(() => said(world, root).length === 1);
      await world.until(() => results(world, METHOD).includes(kind));
      await world.stopApp();
      await world.startApp();
      await world.pass(MINUTE_MS);
      expect(status(world, root)).toBe("active");
      expect(said(world, root)).toHaveLength(1);
    },
  );

  it("waits as long as Slack says, and then shows what is true by then", async () => {
    await using world = await start();
    const fault = { kind: "ratelimited", retryAfterS: 90 } as const;
    world.slack.faults.add({ method: METHOD, fault });
    const root = await ask(world);
    finish(world);
    await world.until(() => said(world, root).length === 1);
    await world.pass(3 * MINUTE_MS);
    expect(statuses(world, root)).toEqual(["active"]);
  });
});

describe("where Slack has no session", () => {
  it("for the app, it is asked once, and the indicator is shown as ever", async () => {
    await using world = await World.start({ jobService: OFFERS_EVERYTHING });
    const root = await ask(world);
    await world.pass(5 * MINUTE_MS);
    finish(world);
    await world.until(() => said(world, root).length === 1);
    await ask(world, "fix the FAQ");
    await world.pass(5 * MINUTE_MS);
    expect(results(world, METHOD)).toEqual(["not_authorized"]);
    expect(new Set(results(world, INDICATOR))).toEqual(new Set(["ok"]));
  });

  it.each(["missing_scope", "unknown_method", "feature_disabled"])(
    "for the app (%s), the indicator is shown, too",
    async (error) => {
      await using world = await start();
      world.slack.faults.add({ method: METHOD, times: Infinity, fault: { kind: "error", error } });
      const root = await ask(world);
      await world.until(() => results(world, INDICATOR).includes("ok"));
      await ask(world, "fix the FAQ");
      await world.pass(5 * MINUTE_MS);
      expect([status(world, root), results(world, METHOD)]).toEqual([null, [error]]);
    },
  );

  it.each(["invalid_arguments", "not_authorized", "session_is_closed"])(
    "for a follow-up of a closed one (%s), that thread alone has the indicator",
    async (error) => {
      await using world = await start();
      const root = await working(world);
      finish(world);
      await until(world, root, "active");
      world.service.follow(jobOf(world), { url: PR, state: "merged" });
      await until(world, root, "closed");
      const isRefused = ({ args }: { args: Record<string, unknown> }) => args["thread_ts"] === root.ts;
      const fault = { kind: "error", error } as const;
      world.slack.faults.add({ method: METHOD, times: Infinity, when: isRefused, fault });
      await reply(world, root, "and the FAQ");
      await world.until(() => results(world, INDICATOR).includes("ok"));
      expect(world.slack.workspace.threadStatuses.drawn(DOCS, root.ts)).toBe("is working on the docs");
      await ask(world, "fix the glossary");
      const roots = () => world.slack.messages(DOCS).filter(({ thread_ts }) => thread_ts === undefined);
      const other = await world.until(() => roots().find(({ ts }) => ts !== root.ts));
      await until(world, other, "processing");
      await world.pass(30 * MINUTE_MS);
      const shown = world.slack.calls.filter(({ method }) => method === INDICATOR);
      expect(new Set(shown.map(({ args }) => args["thread_ts"]))).toEqual(new Set([root.ts]));
      expect(status(world, other)).toBe("processing");
      // Nobody calls again and again for one thread.
      expect(results(world, METHOD).length).toBeLessThanOrEqual(20);
    },
  );
});

describe("Slack's own Stop", () => {
  it("stops the turn as the button does, once, and not the next one if it is told again", async () => {
    await using world = await start();
    const root = await working(world);
    const onceMore = await pressStop(world, BEN, root);
    await until(world, root, "active");
    await world.until(() => said(world, root).length === 1);
    await onceMore();
    await world.pass(MINUTE_MS);
    expect(said(world, root).map((lines) => lines.slice(0, 2))).toEqual([
      ["⏹️ @Ben stopped the agent, @Ana.", "No pull request was opened."],
    ]);
    await followedUp(world, root, "only the FAQ");
    await onceMore();
    await world.pass(MINUTE_MS);
    expect([world.service.cancels, status(world, root)]).toEqual([["job_1/1"], "processing"]);
    expect([privately(world, BEN), privately(world, ANA)]).toEqual([[], []]);
  });

  it("stops all that the status message of the running turn shows", async () => {
    await using world = await start();
    const root = await working(world);
    await reply(world, root, "and the FAQ");
    await world.until(() => world.service.messages.length === 1);
    await pressStop(world, ANA, root);
    await world.pass(MINUTE_MS);
    expect(world.service.cancels.toSorted()).toEqual(["job_1/1", "job_1/2"]);
    expect(status(world, root)).toBe("active");
  });

  it("by somebody who may not stops nothing: they are told once, and it goes on", async () => {
    await using world = await start({ env: { FOLLOW_UPS: "requester" } });
    const root = await working(world);
    const before = statuses(world, root).length;
    const onceMore = await pressStop(world, BEN, root);
    await onceMore();
    await world.pass(MINUTE_MS);
    expect(privately(world, BEN)).toEqual([
      "Only @Ana can do that. For your own request, use `@docs-agent new: …`.",
    ]);
    expect(statuses(world, root).slice(before)).toEqual(["processing"]);
    expect([world.service.cancels, said(world, root)]).toEqual([[], []]);
    await pressStop(world, ANA, root);
    await world.until(() => said(world, root).length === 1);
    expect(world.service.cancels).toEqual(["job_1/1"]);
  });

  it("stops a person's own turn where another one runs beside it", async () => {
    await using world = await start({ env: { FOLLOW_UPS: "requester" } });
    const root = await working(world);
    await reply(world, root, "new: fix the FAQ");
    await world.until(() => world.service.creates.length === 2);
    await pressStop(world, BEN, root);
    await world.pass(MINUTE_MS);
    expect([world.service.cancels, privately(world, BEN)]).toEqual([["job_2/1"], []]);
    expect(status(world, root)).toBe("processing");
  });

  it("by a guest stops nothing: they are told that they can't, and it goes on", async () => {
    await using world = await start();
    world.slack.workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
    world.slack.workspace.invite(DOCS, GUS);
    const root = await working(world);
    const before = statuses(world, root).length;
    await (
      await pressStop(world, GUS, root)
    )();
    await world.pass(MINUTE_MS);
    expect(privately(world, GUS)).toEqual([expect.stringContaining("only members of this workspace")]);
    expect(statuses(world, root).slice(before)).toEqual(["processing"]);
    expect(world.service.cancels).toEqual([]);
  });

  it("after the end says nothing, and the session is active", async () => {
    await using world = await start();
    const root = await working(world);
    const isEnd = ({ args }: { args: Record<string, unknown> }) => args["status"] === "active";
    const remove = world.slack.faults.add({
      method: METHOD,
      times: Infinity,
      when: isEnd,
      fault: { kind: "error", error: "invalid_arguments" },
    });
    finish(world);
    await world.until(() => said(world, root).length === 1);
    await world.pass(MINUTE_MS);
    remove();
    expect(status(world, root)).toBe("processing");
    await pressStop(world, BEN, root);
    await until(world, root, "active");
    await world.pass(MINUTE_MS);
    expect([said(world, root).length, world.service.cancels, privately(world, BEN)]).toEqual([1, [], []]);
  });
});
