import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import type { JobQuestion } from "../../src/shared/contract/question.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { MINUTE_MS, ask, jobOf, reply, said } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const HOUR_MS = 60 * MINUTE_MS;
const ASKED = ["💬 The agent asked:", "Which page?"];

/** Ana's request, whose agent asks: with choices, and for words unless the question says otherwise. */
async function asked(
  policy: "mention" | "ask" | "requester",
  question: Partial<Sent<typeof JobQuestion>> = {},
): Promise<{ world: World; root: SlackMessage } & AsyncDisposable> {
  const world = await World.start({
    jobService: { level: 1 },
    env: { FOLLOW_UPS: policy },
  });
  const root = await ask(world);
  world.service.ask(jobOf(world), question);
  await world.until(() => said(world, root)[0]?.[1] === "Which page?");
  return { world, root, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

it("a reply answers the agent, in its own words, once however often Slack delivers it", async () => {
  await using at = await asked("mention");
  const { world, root } = at;
  const { slack, service } = world;
  const { delivery } = await slack
    .person(BEN)
    .mention({ channel: DOCS, threadTs: root.ts, text: "both of <them> & more" });
  await world.until(() => said(world, root)[0]?.length === 3);
  if (delivery !== undefined) await slack.redeliver(delivery, { resign: true });
  await world.stopApp();
  await world.startApp();
  if (delivery !== undefined) await slack.redeliver(delivery, { resign: true });
  await world.pass(HOUR_MS);
  expect(delivery).toBeDefined();
  expect(service.answers.map(({ answer }) => answer)).toEqual(["both of <them> & more"]);
  expect({ messages: service.messages, creates: service.creates.length }).toEqual({
    messages: [],
    creates: 1,
  });
  expect(said(world, root)).toEqual([[...ASKED, "@Ben answered: both of <them> & more"]]);
  expect(slack.ephemerals()).toEqual([]);

  await reply(world, root, "and the FAQ");
  await world.until(() => service.messages.length === 1);
});

it("a reply that names a choice chooses it", async () => {
  await using at = await asked("mention", { allowsText: false });
  const { world, root } = at;
  await reply(world, root, " faq ");
  await world.until(() => world.service.answers.length === 1);
  expect(world.service.answers[0]?.answer).toBe("2");
  await world.until(() => said(world, root)[0]?.at(-1) === "@Ben answered: FAQ");
});

it(
  "a reply after Stop is a follow-up, whatever the service still says of the question",
  { tags: "all" },
  async () => {
    await using at = await asked("mention");
    const { world, root } = at;
    const { service, slack } = world;
    // The stop can't get through, and the agent goes on waiting.
    service.faults.add({ op: "cancel", times: 20, fault: { kind: "status", status: 503 } });
    await slack.person(ANA).click({ channel: DOCS, messageTs: root.ts, actionId: "stop_turn" });
    await reply(world, root, "the install page");
    await world.until(() => service.messages.length === 1);
    await world.pass(10 * MINUTE_MS);
    await reply(world, root, "FAQ");
    await world.until(() => service.messages.length === 2);
    expect(service.messages.map(({ prompt }) => prompt.split("\n")[0])).toEqual(["the install page", "FAQ"]);
    expect(service.answers).toEqual([]);
    expect(said(world, root)[0]).toEqual([...ASKED, "The agent stopped waiting."]);
  },
);

it.each([
  ["moves on", "Too late: the agent has already moved on."],
  ["is answered outside Slack", "Too late: the agent already got an answer outside Slack."],
])(
  "a reply that comes too late because the agent %s is the follow-up that it would have been",
  { tags: "all" },
  async (how, end) => {
    await using at = await asked("requester");
    const { world, root } = at;
    const { service, slack } = world;
    const id = service.jobs.get(jobOf(world))?.questions[0]?.id ?? "";
    if (how === "moves on") service.closeQuestion(jobOf(world), id);
    else service.answerElsewhere(jobOf(world), id, "1");
    const sent = await slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: " faq " });
    await world.until(() => service.messages.length === 1);
    await world.stopApp();
    await world.startApp();
    if (sent.delivery !== undefined) await slack.redeliver(sent.delivery, { resign: true });
    await world.until(() => said(world, root)[0]?.length === 4);
    expect(said(world, root)[0]).toEqual([...ASKED, "@Ana answered: FAQ", `${end} It's a follow-up now.`]);
    // It's in what was said, not in the name of a choice.
    expect(service.messages.map(({ prompt }) => prompt.trim())).toEqual(["faq"]);
    for (const turn of service.jobs.get(jobOf(world))?.turns ?? [])
      Object.assign(turn, { status: "ended", outcome: "no-changes" });
    service.finish(jobOf(world), { status: "completed" });
    await world.until(() => said(world, root).length === 3);
    await world.pass(HOUR_MS);
    expect(said(world, root)).toHaveLength(3);
    expect(service.messages).toHaveLength(1);
    expect([slack.ephemerals(), slack.dm(ANA)]).toEqual([[], []]);
  },
);

it(
  "a reply that was on its way when somebody pressed Stop starts nothing, and its author is told",
  { tags: "all" },
  async () => {
    await using at = await asked("mention");
    const { world, root } = at;
    const { service, slack } = world;
    service.faults.add({ op: "answer", times: 1, fault: { kind: "status", status: 503 } });
    await reply(world, root, "the install page");
    await slack.person(ANA).click({ channel: DOCS, messageTs: root.ts, actionId: "stop_turn" });
    await world.until(() => slack.dm(BEN).length === 1);
    await world.pass(HOUR_MS);
    expect(slack.visibleText(slack.dm(BEN)[0]!).split("\n").slice(0, 2)).toEqual([
      "⚠️ Your answer in #docs came too late: the request was stopped.",
      "the install page",
    ]);
    expect([service.answers, service.messages]).toEqual([[], []]);
  },
);

it("what can't be the answer is a follow-up, or a request of its own", async () => {
  await using at = await asked("mention", { allowsText: false });
  const { world, root } = at;
  const { service, slack } = world;
  await reply(world, root, "the pricing page");
  await world.until(() => service.messages.length === 1);
  await reply(world, root, "new: FAQ");
  await world.until(() => service.creates.length === 2);
  const file = { name: "shot.png", mimetype: "image/png", content: Buffer.from("an image") };
  await slack.person(BEN).mention({ channel: DOCS, threadTs: root.ts, text: "FAQ", files: [file] });
  await world.pass(MINUTE_MS);
  expect(service.answers).toEqual([]);
});

it("a mention with a file of which its event doesn't tell is a follow-up", { tags: "all" }, async () => {
  await using at = await asked("mention");
  const { world, root } = at;
  const { service, slack } = world;
  slack.workspace.fileSettings.areNotInMentions = true;
  const file = { name: "shot.png", mimetype: "image/png", content: Buffer.from("an image") };
  await slack
    .person(BEN)
    .mention({ channel: DOCS, threadTs: root.ts, text: "see the picture", files: [file] });
  await world.until(() => service.messages.length === 1);
  expect(service.messages[0]?.prompt).toContain("see the picture");
  expect(service.answers).toEqual([]);
});

it("where only the requester may answer, any reply of theirs does, and nobody else's", async () => {
  await using at = await asked("requester");
  const { world, root } = at;
  const { service, slack } = world;
  await reply(world, root, "FAQ");
  await world.until(() => slack.ephemerals(BEN).length === 1);
  await slack.person(BEN).say({ channel: DOCS, threadTs: root.ts, text: "FAQ" });
  await world.pass(MINUTE_MS);
  expect(service.answers).toEqual([]);
  await slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: "the install page" });
  await world.until(() => service.answers.length === 1);
  expect(service.answers[0]?.answer).toBe("the install page");
  expect(service.messages).toEqual([]);
});

it("a reply that its author says is for the agent answers it", async () => {
  await using at = await asked("ask");
  const { world, root } = at;
  const { service, slack } = world;
  await slack.person(BEN).say({ channel: DOCS, threadTs: root.ts, text: "the install page" });
  const [question] = await world.until(() => {
    const asking = slack.ephemerals(BEN);
    return asking.length === 1 ? asking : undefined;
  });
  const messageTs = question?.ts ?? "";
  await slack.person(BEN).click({ channel: DOCS, messageTs, ephemeral: true, actionId: "send_reply" });
  await world.until(() => service.answers.length === 1);
  expect(service.answers[0]?.answer).toBe("the install page");
});

it("a reply before the question can be seen is a follow-up", { tags: "all" }, async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const { service, slack } = world;
  const root = await ask(world);
  await world.until(() => world.read(DOCS).length === 1);
  const over = slack.faults.add({
    method: "chat.postMessage",
    fault: { kind: "error", error: "internal_error" },
    times: Number.POSITIVE_INFINITY,
  });
  service.ask(jobOf(world));
  await world.until(() => world.read(DOCS)[0]?.includes("Waiting for an answer"));
  await reply(world, root, "and the FAQ");
  await world.until(() => service.messages.length === 1);
  over();
  await world.until(() => said(world, root).some((lines) => lines.includes("Which page?")));
  expect(service.answers).toEqual([]);
});
