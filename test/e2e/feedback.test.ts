import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, done } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const THANKS = "Thanks for the feedback.";

function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((shown) => world.slack.visibleText(shown));
}

async function outcomeOf(world: World): Promise<SlackMessage> {
  const root = await done(world);
  const [outcome] = world.replies(DOCS, root.ts);
  if (outcome === undefined) throw new Error("there is no outcome");
  return outcome;
}

async function vote(world: World, who: string, message: SlackMessage, option: string) {
  const act = { channel: DOCS, messageTs: message.ts, actionId: "feedback", option };
  const sent = await world.slack.person(who).click(act);
  expect(sent.status).toBe(200);
  await world.settle();
  return sent;
}

/** What the log has of the votes, one for each that counted. */
function logged(world: World): unknown[] {
  return world.logger
    .text("info")
    .split("\n")
    .filter((line) => line.includes('"feedback"') || line.includes("feedback"))
    .flatMap((line) => /"votes":(\{[^}]*\})/.exec(line)?.[1] ?? []);
}

it("each person's last vote counts, over a restart and a redelivery", async () => {
  await using world = await World.start();
  const outcome = await outcomeOf(world);
  await vote(world, ANA, outcome, "positive");
  await world.slack.until(() => privately(world, ANA).length === 1);
  const { delivery } = await vote(world, BEN, outcome, "positive");
  await world.slack.redeliver(delivery, { retryNum: 1 });
  await world.stopApp();
  await world.startApp();
  await vote(world, ANA, outcome, "negative");
  await world.slack.until(() => privately(world, ANA).length === 2);
  expect(privately(world, ANA)).toEqual([THANKS, THANKS]);
  expect(world.slack.ephemerals(ANA).map(({ thread_ts }) => thread_ts)).toEqual([
    outcome.thread_ts,
    outcome.thread_ts,
  ]);
  expect(privately(world, BEN)).toEqual([THANKS]);
  expect(logged(world)).toEqual(['{"yes":1,"no":0}', '{"yes":2,"no":0}', '{"yes":1,"no":1}']);
});

it("a guest can't vote", async () => {
  await using world = await World.start();
  const outcome = await outcomeOf(world);
  world.slack.workspace.addUser({ id: "U0GUS", name: "gus", guest: "multi-channel" });
  world.slack.workspace.invite(DOCS, "U0GUS");
  await vote(world, "U0GUS", outcome, "positive");
  await world.slack.until(() => privately(world, "U0GUS").length === 1);
  expect(privately(world, "U0GUS")[0]).toContain("only members of this workspace");
  expect(world.slack.ephemerals("U0GUS")[0]?.thread_ts).toBe(outcome.thread_ts);
  expect(logged(world)).toEqual([]);
});

it("has buttons of the usual kind where Slack doesn't take the icons", async () => {
  await using world = await World.start();
  world.slack.faults.add({
    method: "chat.postMessage",
    times: 1000,
    when: ({ args }) => JSON.stringify(args["blocks"]).includes("context_actions"),
    fault: { kind: "error", error: "invalid_blocks" },
  });
  const outcome = await outcomeOf(world);
  expect(world.slack.visibleText(outcome)).toContain("\n[Helpful] [Not helpful]");
  const act = { channel: DOCS, messageTs: outcome.ts, actionId: "feedback_no" };
  await world.slack.person(BEN).click(act);
  await world.settle();
  await world.slack.until(() => privately(world, BEN).length === 1);
  expect(logged(world)).toEqual(['{"yes":0,"no":1}']);
});

it("is asked for where there is a result, and not where there is none", async () => {
  await using world = await World.start({ env: { JOB_DEADLINE_MS: String(10 * MINUTE_MS) } });
  const outcome = await outcomeOf(world);
  expect(outcome.blocks?.at(-1)?.type).toBe("context_actions");
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.pass(20 * MINUTE_MS);
  const expired = world.slack.messages(DOCS).findLast((message) => message.text.includes("stopped watching"));
  expect(expired?.blocks?.map(({ type }) => type)).not.toContain("context_actions");
});
