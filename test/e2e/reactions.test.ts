import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, ask, done, jobOf, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

/** What is shown under a message, in the order it came. */
function under(world: World, { ts }: SlackMessage): string[] {
  const message = world.slack.messages(DOCS).find((other) => other.ts === ts);
  return (message?.reactions ?? []).map(({ name }) => name);
}

async function mention(world: World, text = "fix the FAQ"): Promise<SlackMessage> {
  const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text });
  await world.until(() => under(world, message).includes("eyes"));
  return message;
}

describe("the message that asked shows", () => {
  it.each([
    ["a pull request", { status: "completed", prLink: PR }, ["white_check_mark"]],
    ["no changes", { status: "completed", prLink: null }, ["white_check_mark"]],
    ["a failure", { status: "failed" }, ["x"]],
    ["neither, if it was archived", { status: "archived" }, []],
  ] as const)("%s", async (_, end, shown) => {
    await using world = await World.start();
    const message = await mention(world);
    expect(under(world, message)).toEqual(["eyes"]);
    await world.until(() => world.service.creates.length === 1);
    world.service.finish(jobOf(world), end);
    await world.until(() => !under(world, message).includes("eyes"));
    await world.pass(5 * MINUTE_MS);
    expect(under(world, message)).toEqual(shown);
  });

  it("each of its own turn: a message that was picked, and a follow-up", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const picked = world.slack.workspace.say({ channel: DOCS, user: BEN, text: "The FAQ is wrong" });
    const shortcut = { callbackId: "fix_these_docs", channel: DOCS, messageTs: picked.ts };
    await world.slack.person(ANA).shortcut(shortcut);
    await world.slack.person(ANA).submit({ viewId: (await world.form(ANA)).id });
    await world.until(() => under(world, picked).includes("eyes"));
    await world.until(() => world.service.creates.length === 1);
    world.service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => under(world, picked).join() === "white_check_mark");
    const followUp = await reply(world, picked, "and the glossary");
    await world.until(() => under(world, followUp).includes("eyes"));
    expect(under(world, picked)).toEqual(["white_check_mark"]);
    expect(under(world, followUp)).toEqual(["eyes"]);
  });

  it("after Try again, how the newest attempt stands", async () => {
    await using world = await World.start();
    const message = await mention(world);
    await world.until(() => world.service.creates.length === 1);
    world.service.finish(jobOf(world), { status: "failed" });
    const failed = await world.until(() => world.replies(DOCS, message.ts)[1]);
    await world.until(() => under(world, message).join() === "x");
    await world.slack.person(BEN).click({ channel: DOCS, messageTs: failed.ts, actionId: "try_again" });
    await world.until(() => under(world, message).join() === "eyes");
    await world.until(() => world.service.creates.length === 2);
    world.service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => !under(world, message).includes("eyes"));
    expect(under(world, message)).toEqual(["white_check_mark"]);
  });
});

it("a command has no message, and gets none under the app's own", async () => {
  await using world = await World.start();
  const root = await done(world);
  expect(under(world, root)).toEqual([]);
  expect(world.slack.calls.filter(({ method }) => method.startsWith("reactions."))).toEqual([]);
});

describe("where reactions fail", () => {
  it("they come right over faults, lost answers and a restart, and nothing waits for them", async () => {
    await using world = await World.start();
    const stop = world.slack.faults.add({
      method: "reactions.add",
      times: 1000,
      fault: { kind: "ratelimited", retryAfterS: 30 },
    });
    const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => world.service.creates.length === 1);
    world.service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => world.replies(DOCS, message.ts).length === 2);
    expect(under(world, message)).toEqual([]);
    await world.stopApp();
    await world.startApp();
    stop();
    world.slack.faults.add({ method: "reactions.add", fault: { kind: "drop-after" } });
    await world.until(() => under(world, message).includes("white_check_mark"));
    await world.pass(30 * MINUTE_MS);
    expect(under(world, message)).toEqual(["white_check_mark"]);
  });

  it.each(["too_many_reactions", "message_not_found", "missing_scope"])(
    "for good (%s), nothing is said",
    async (error) => {
      await using world = await World.start();
      world.slack.faults.add({ method: "reactions.add", times: 1000, fault: { kind: "error", error } });
      const { message } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
      await world.until(() => world.service.creates.length === 1);
      world.service.finish(jobOf(world), { status: "completed", prLink: PR });
      await world.pass(10 * MINUTE_MS);
      expect(world.replies(DOCS, message.ts)).toHaveLength(2);
      expect(world.logger.text("warn")).not.toContain(error);
      expect(world.slack.calls.filter(({ method }) => method === "reactions.add").length).toBeLessThanOrEqual(
        2,
      );
    },
  );
});

it("keeps to Slack's rates when many ask at once", async () => {
  await using world = await World.start();
  for (let n = 0; n < 12; n += 1) {
    await world.slack.person(ANA).mention({ channel: DOCS, text: `fix page ${n}` });
  }
  await world.until(() => world.service.creates.length === 12);
  for (const { jobId } of world.service.creates) world.service.finish(jobId, { status: "failed" });
  await world.pass(10 * MINUTE_MS);
  const times = (method: string) =>
    world.slack.calls.filter((call) => call.method === method).map(({ at }) => at);
  const mostInAMinute = (all: number[]) =>
    Math.max(...all.map((at) => all.filter((other) => other >= at && other < at + MINUTE_MS).length));
  expect(mostInAMinute(times("reactions.add"))).toBeLessThanOrEqual(50);
  expect(mostInAMinute(times("reactions.remove"))).toBeLessThanOrEqual(21);
  const shown = world.slack.messages(DOCS).flatMap((message) => under(world, message));
  expect(shown).toEqual(Array.from({ length: 12 }, () => "x"));
  await ask(world);
});
