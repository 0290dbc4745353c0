import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import type { JobQuestion } from "../../src/shared/contract/question.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { MINUTE_MS, PR, ask, done, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";
import type { WorldOptions } from "../support/world.ts";

const HOUR_MS = 60 * MINUTE_MS;
const WAITING = "💬 Waiting for an answer";
const WORKING = "🔧 The agent is working. I'll reply here when it's done.";
const OPEN = ["💬 @Ana The agent asks:", "Which page?", "[Install] [FAQ] [Answer…]"];
const ASKED = ["💬 The agent asked:", "Which page?"];
const STOPPED = "The agent stopped waiting.";

function start(options: WorldOptions = {}): Promise<World> {
  return World.start({ jobService: { level: 1 }, ...options });
}

function asks(world: World, question: Partial<Sent<typeof JobQuestion>> = {}): string {
  return world.service.ask(jobOf(world), question);
}

/** Ana's request, whose agent asks, and the message that does. */
async function asked(
  world: World,
  question: Partial<Sent<typeof JobQuestion>> = {},
): Promise<{ root: SlackMessage; message: SlackMessage; id: string }> {
  const root = await ask(world);
  const id = asks(world, question);
  const message = await world.until(() => world.replies(DOCS, root.ts)[0]);
  await world.until(() => stateOf(world) === WAITING);
  return { root, message, id };
}

function stateOf(world: World): string {
  return world.read(DOCS)[0]?.split("\n").at(-1) ?? "";
}

async function press(world: World, who: string, message: SlackMessage, actionId: string) {
  const sent = await world.slack.person(who).click({ channel: DOCS, messageTs: message.ts, actionId });
  expect(sent.status).toBe(200);
  await world.settle();
  return sent.delivery;
}

async function openForm(world: World, who: string, message: SlackMessage) {
  await press(world, who, message, "answer_in_words");
  return world.form(who);
}

async function submit(world: World, who: string, viewId: string, text: string) {
  const sent = await world.slack.person(who).submit({ viewId, values: { answer: { answer: text } } });
  expect(sent.status).toBe(200);
  await world.settle();
  return sent.delivery;
}

function privately(world: World, userId: string): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

async function restart(world: World): Promise<void> {
  await world.stopApp();
  await world.startApp();
}

describe("a question", () => {
  it("is asked once, in the thread, and waits over restarts; a button answers it", async () => {
    await using world = await start();
    const { service, slack } = world;
    const { root, message, id } = await asked(world);
    expect(said(world, root)).toEqual([OPEN]);
    expect(slack.visibleText({ ...message, blocks: [] })).toBe("💬 @Ana The agent asks: Which page?");
    await world.pass(20 * MINUTE_MS);
    await restart(world);
    await world.pass(20 * MINUTE_MS);
    expect(said(world, root)).toEqual([OPEN]);

    service.tell(jobOf(world), { step: "asks: Which page?" });
    const delivery = await press(world, BEN, message, "answer_choice_1");
    await slack.redeliver(delivery, { resign: true });
    const polls = service.gets.length;
    const answeredAt = world.clock.now();
    service.tell(jobOf(world), { step: "Edit docs/faq.md" });
    await world.until(() => stateOf(world) === "🔧 Edit docs/faq.md");
    expect(world.clock.now() - answeredAt).toBeLessThanOrEqual(5_000);
    expect(service.gets.length).toBe(polls + 1);
    expect(service.answers).toEqual([{ jobId: jobOf(world), questionId: id, answer: "2" }]);
    expect(said(world, root)).toEqual([[...ASKED, "@Ben answered: FAQ"]]);

    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.until(() => said(world, root).length === 2);
    await restart(world);
    await world.pass(HOUR_MS);
    expect(said(world, root)).toHaveLength(2);
    expect(said(world, root)[0]).toEqual([...ASKED, "@Ben answered: FAQ"]);
    expect(service.calls.filter(({ op }) => op === "answer")).toHaveLength(1);
    expect(slack.ephemerals()).toEqual([]);
  });

  it("is shown whole if it is as long as our service makes them", async () => {
    await using world = await start();
    const lines = Array.from(
      { length: 15 },
      (_, at) => `docs/page-${at}.md: “${"shown whole & <all> ".repeat(2)}${at}”`,
    );
    const text = `May these words be published? ${"x".repeat(1000)}`.slice(0, 999 - lines.join("\n").length);
    const { root, message } = await asked(world, { text: [text, ...lines].join("\n") });
    expect([text, ...lines].join("\n")).toHaveLength(1000);
    expect(said(world, root)[0]?.join("\n")).toContain([text, ...lines].join("\n"));
    expect(JSON.stringify(message.blocks)).toContain(
      JSON.stringify([text, ...lines].join("\n")).slice(1, -1),
    );
  });

  it("is asked once although Slack's answer to the post is lost", { tags: "all" }, async () => {
    await using world = await start();
    const root = await ask(world);
    world.slack.faults.add({ method: "chat.postMessage", times: 1, fault: { kind: "drop-after" } });
    const id = asks(world);
    await world.until(() => world.replies(DOCS, root.ts).length === 1);
    await restart(world);
    world.service.answerElsewhere(jobOf(world), id, "1");
    await world.until(() => said(world, root)[0]?.at(-1) === "Answered outside Slack.");
    await world.pass(HOUR_MS);
    expect(said(world, root)).toHaveLength(1);
  });

  it("is asked where the answer to a create that was sent again tells of it", { tags: "all" }, async () => {
    await using world = await start({
      jobService: { level: 1 },
    });
    // So that the service has announced what it honors.
    const { ts: before } = await done(world);
    world.service.faults.add({ op: "create", times: 1, fault: { kind: "drop-after" } });
    await ask(world, "fix the FAQ");
    const root = await world.until(() =>
      world.slack.messages(DOCS).find(({ ts, thread_ts }) => thread_ts === undefined && ts !== before),
    );
    asks(world);
    await world.until(() => world.service.calls.filter(({ op }) => op === "create").length === 3);
    await world.pass(MINUTE_MS);
    expect(said(world, root)).toEqual([OPEN]);
  });

  it("is answered in words by a form, which says what is wrong with them", async () => {
    await using world = await start();
    const { service, slack } = world;
    const { root, message } = await asked(world, { choices: [] });
    expect(said(world, root)[0]?.at(-1)).toBe("[Answer…]");
    const form = await openForm(world, ANA, message);
    expect(form.view.title.text).toBe("Answer the agent");
    await submit(world, ANA, form.id, "  \n ");
    expect(slack.openViews(ANA)[0]?.errors).toEqual({ answer: "Type an answer." });
    const delivery = await submit(world, ANA, form.id, "Both, <!channel> & *all*");
    expect(slack.openViews(ANA)).toEqual([]);
    await slack.redeliver(delivery, { resign: true });
    const long = delivery.body.replace("Both", "x".repeat(3001));
    expect((await slack.redeliver({ ...delivery, body: long }, { resign: true })).body).toContain(
      "the limit is 3,000",
    );
    await world.until(() => service.answers.length === 1);
    expect(service.answers[0]?.answer).toBe("Both, <!channel> & *all*");
    await world.until(() => said(world, root)[0]?.length === 3);
    expect(said(world, root)).toEqual([[...ASKED, "@Ana answered: Both, <!channel> & *all*"]]);
    await world.until(() => stateOf(world) === WORKING);
  });

  it("takes the first of two answers, and tells the second person who was first", async () => {
    await using world = await start();
    const { service } = world;
    const { root, message } = await asked(world);
    const form = await openForm(world, ANA, message);
    const click = (who: string, n: number) =>
      world.slack.person(who).click({ channel: DOCS, messageTs: message.ts, actionId: `answer_choice_${n}` });
    await Promise.all([click(ANA, 0), click(BEN, 1), click(ANA, 0), click(BEN, 1)]);
    await world.settle();
    await world.until(() => said(world, root)[0]?.length === 3);
    const [first, second] = service.answers[0]?.answer === "1" ? ["Ana", BEN] : ["Ben", ANA];
    expect(said(world, root)).toEqual([
      [...ASKED, `@${first} answered: ${first === "Ana" ? "Install" : "FAQ"}`],
    ]);
    await world.slack.until(() => privately(world, second).length === 2);
    expect(new Set(privately(world, second))).toEqual(new Set([`@${first} already answered that.`]));
    expect(world.slack.ephemerals()).toHaveLength(2);
    await submit(world, ANA, form.id, "Neither");
    expect(world.slack.openViews(ANA)[0]?.errors["answer"]).toMatch(/already answered that\.$/);
    expect(service.answers).toHaveLength(1);
  });

  it("is for the requester alone where the operator says so", async () => {
    await using world = await start({ env: { FOLLOW_UPS: "requester" } });
    const { service } = world;
    const { root, message } = await asked(world);
    await press(world, BEN, message, "answer_choice_0");
    await press(world, BEN, message, "answer_in_words");
    await world.slack.until(() => privately(world, BEN).length === 2);
    const refused = "Only @Ana can do that. For your own request, use `@docs-agent new: …`.";
    expect(privately(world, BEN)).toEqual([refused, refused]);
    expect(world.slack.ephemerals(BEN).map(({ thread_ts }) => thread_ts)).toEqual([root.ts, root.ts]);
    expect(world.slack.openViews(BEN)).toEqual([]);
    expect(said(world, root)).toEqual([OPEN]);
    await press(world, ANA, message, "answer_choice_0");
    await world.until(() => service.answers.length === 1);
  });
});

describe("a question that ends without an answer from Slack", () => {
  it.each([
    ["the agent goes on", "The agent stopped waiting."],
    ["the turn ends", "The agent stopped waiting."],
    ["it is answered elsewhere", "Answered outside Slack."],
  ])("%s", async (how, end) => {
    await using world = await start();
    const { service } = world;
    const { root, id } = await asked(world);
    if (how === "the agent goes on") service.closeQuestion(jobOf(world), id);
    else if (how === "the turn ends") service.finish(jobOf(world), { status: "failed" });
    else service.answerElsewhere(jobOf(world), id, "1");
    await world.until(() => said(world, root)[0]?.at(-1) === end);
    expect(said(world, root)[0]).toEqual([...ASKED, end]);
    if (how !== "the turn ends") await world.until(() => stateOf(world) === WORKING);
    expect(service.answers).toEqual([]);
  });

  it("is over with the press of Stop, for buttons and forms, too, though the service can't be asked to stop yet", async () => {
    await using world = await start({ jobService: { level: 1 } });
    const { service, slack } = world;
    const { root, message } = await asked(world);
    const form = await openForm(world, BEN, message);
    await service.down();
    // The buttons stay where they are for a while.
    const fault = { kind: "error", error: "internal_error" } as const;
    const over = slack.faults.add({ method: "chat.update", fault, times: Number.POSITIVE_INFINITY });
    await press(world, ANA, root, "stop_turn");
    await press(world, BEN, message, "answer_choice_0");
    await press(world, BEN, message, "answer_in_words");
    await slack.until(() => privately(world, BEN).length === 2);
    expect(privately(world, BEN)).toEqual([STOPPED, STOPPED]);
    await submit(world, BEN, form.id, "Both");
    expect(slack.openViews(BEN)[0]?.errors).toEqual({ answer: STOPPED });
    over();
    await world.until(() => said(world, root)[0]?.at(-1) === STOPPED);
    await service.up();
    await world.pass(60 * MINUTE_MS);
    expect(said(world, root)[0]).toEqual([...ASKED, STOPPED]);
    expect(said(world, root)[1]?.[0]).toBe("⏹️ @Ana stopped the agent.");
    expect(service.answers).toEqual([]);
  });

  it("tells whoever chose or typed an answer too late so, with their words, once, and closes it", async () => {
    await using world = await start();
    const { service, slack } = world;
    const { root, message, id } = await asked(world);
    service.closeQuestion(jobOf(world), id);
    slack.faults.add({ method: "chat.postMessage", times: 1, fault: { kind: "drop-after" } });
    await press(world, BEN, message, "answer_choice_0");
    await world.until(() => said(world, root)[0]?.at(-1) === "Too late: the agent has already moved on.");
    expect(said(world, root)[0]).toEqual([
      ...ASKED,
      "@Ben answered: Install",
      "Too late: the agent has already moved on.",
    ]);
    const second = asks(world);
    const again = await world.until(() => world.replies(DOCS, root.ts)[1]);
    const form = await openForm(world, ANA, again);
    service.closeQuestion(jobOf(world), second);
    await submit(world, ANA, form.id, "Both & <all>");
    await world.until(() => slack.dm(ANA).length === 1);
    await restart(world);
    await world.pass(HOUR_MS);
    const tells = (words: string) => [
      "⚠️ Your answer in #docs came too late: the agent had already moved on.",
      words,
      "To send it as a follow-up, reply in the thread with `@docs-agent`.",
      expect.stringMatching(/^\[View message\]/),
    ];
    const direct = (who: string) => slack.dm(who).map((dm) => slack.visibleText(dm).split("\n"));
    expect([direct(BEN), direct(ANA)]).toEqual([[tells("Install")], [tells("Both & <all>")]]);
    expect([service.answers, service.messages, slack.ephemerals()]).toEqual([[], [], []]);
  });

  it(
    "is closed when watching ends, and open again when somebody keeps watching",
    { tags: "all" },
    async () => {
      await using world = await start({ env: { JOB_DEADLINE_MS: String(HOUR_MS) } });
      const { root, message } = await asked(world);
      await world.until(() => said(world, root).length === 2, 2 * HOUR_MS);
      await world.until(() => said(world, root)[0]?.at(-1) === "The agent stopped waiting.");
      const outcome = world.replies(DOCS, root.ts)[1];
      if (outcome === undefined) throw new Error("no outcome");
      await press(world, ANA, outcome, "keep_watching");
      await world.until(() => stateOf(world) === WAITING);
      expect(said(world, root)[0]).toEqual(OPEN);
      await press(world, ANA, message, "answer_choice_0");
      await world.until(() => world.service.answers.length === 1);
      expect(said(world, root)).toHaveLength(2);
    },
  );

  it(
    "is asked anew when the agent is started anew, and no button of the first is live",
    { tags: "all" },
    async () => {
      await using world = await start();
      const { service } = world;
      const { root, id } = await asked(world);
      service.closeQuestion(jobOf(world), id);
      asks(world);
      await world.until(() => said(world, root).length === 2);
      await world.until(() => said(world, root)[0]?.at(-1) === "The agent stopped waiting.");
      expect(said(world, root)[1]).toEqual(OPEN);
    },
  );
});

describe("an answer while the job service is away", () => {
  it("is kept over a restart, and arrives when it is back", async () => {
    await using world = await start();
    const { service } = world;
    const { root, message } = await asked(world);
    await service.down();
    await press(world, BEN, message, "answer_choice_0");
    await world.until(() => said(world, root)[0]?.at(-1) === "@Ben answered: Install");
    await world.pass(10 * MINUTE_MS);
    await restart(world);
    await world.pass(10 * MINUTE_MS);
    expect(service.answers).toEqual([]);
    await service.up();
    await world.until(() => service.answers.length === 1);
    await world.until(() => stateOf(world) === WORKING);
    expect(said(world, root)).toEqual([[...ASKED, "@Ben answered: Install"]]);
  });

  it.each([
    ["drop-after", 1],
    ["drop-before", 3],
  ] as const)("%s, %i times: is sent again, and taken once", { tags: "all" }, async (kind, times) => {
    await using world = await start();
    const { service } = world;
    const { root, message } = await asked(world);
    service.faults.add({ op: "answer", times, fault: { kind } });
    await press(world, BEN, message, "answer_choice_0");
    await world.until(() => service.calls.filter(({ op }) => op === "answer").length === times + 1);
    await world.pass(MINUTE_MS);
    expect(service.answers).toHaveLength(1);
    expect(said(world, root)).toEqual([[...ASKED, "@Ben answered: Install"]]);
  });

  it.each([
    ["lost", "I can't tell whether the agent got this answer."],
    ["refused", "Too late: the agent has already moved on."],
  ])("was %s, and the question is gone: claims no more than is known", { tags: "all" }, async (how, end) => {
    await using world = await start();
    const { service, slack } = world;
    const { root, message, id } = await asked(world);
    const fault =
      how === "lost" ? ({ kind: "drop-before" } as const) : ({ kind: "status", status: 503 } as const);
    service.faults.add({ op: "answer", times: 1, fault });
    await press(world, BEN, message, "answer_choice_0");
    service.closeQuestion(jobOf(world), id);
    await world.until(() => said(world, root)[0]?.length === 4);
    expect(said(world, root)[0]).toEqual([...ASKED, "@Ben answered: Install", end]);
    await world.until(() => slack.dm(BEN).length === 1);
    const [first, words] = slack.visibleText(slack.dm(BEN)[0]!).split("\n");
    expect([first, words]).toEqual([
      how === "lost"
        ? "⚠️ I can't tell whether the agent got your answer in #docs."
        : "⚠️ Your answer in #docs came too late: the agent had already moved on.",
      "Install",
    ]);
  });

  it(
    "that stays away: tells whoever answered, after a day, that the agent doesn't have it",
    { tags: "all" },
    async () => {
      await using world = await start({ env: { JOB_DEADLINE_MS: String(100 * HOUR_MS) } });
      const { slack } = world;
      const { root, message } = await asked(world);
      await world.service.down();
      await press(world, BEN, message, "answer_choice_0");
      await world.until(() => slack.dm(BEN).length === 1, 30 * HOUR_MS);
      const unsent = "I couldn't reach the agent, so it didn't get";
      expect(slack.visibleText(slack.dm(BEN)[0]!)).toContain(`⚠️ ${unsent} your answer in #docs.\nInstall\n`);
      await world.until(() => said(world, root)[0]?.at(-1) === `${unsent} this answer.`);
    },
  );
});

describe("what the agent asks is text", () => {
  it("hostile words ping nobody, and are no markup", async () => {
    await using world = await start();
    const text = "<!channel> <@U0BEN> *bold* :tada: <https://evil.example|here>\n\u202Eolleh\u0000";
    const { root, message } = await asked(world, {
      text,
      choices: [
        { id: "\u0000".repeat(300), label: "<!here> & :tada:" },
        { id: "b", label: "\n" },
      ],
      allowsText: false,
    });
    expect(said(world, root)[0]).toEqual([
      "💬 @Ana The agent asks:",
      "<!channel> <@U0BEN> *bold* :tada: <https://evil.example|here>",
      "olleh",
      "[<!here> & :tada:] [2]",
    ]);
    expect(message.mentions).toEqual([`@${ANA}`]);
    expect(message.text).not.toMatch(/<!channel>|<https/);
    await press(world, BEN, message, "answer_choice_0");
    await world.until(() => world.service.answers.length === 1);
    expect(world.service.answers[0]?.answer).toBe("\u0000".repeat(300));
    await world.until(() => said(world, root)[0]?.at(-1) === "@Ben answered: <!here> & :tada:");
    expect(world.replies(DOCS, root.ts)[0]?.mentions).not.toContain("!here");
  });

  it("long choices can be read in full, above their numbers", { tags: "all" }, async () => {
    await using world = await start();
    const label = (n: number) => `The page about ${"very ".repeat(4)}long titles, number ${n}`;
    const choices = Array.from({ length: 10 }, (_, n) => ({ id: `c${n}`, label: label(n) }));
    const { root, message } = await asked(world, { choices });
    expect(said(world, root)[0]).toEqual([
      "💬 @Ana The agent asks:",
      "Which page?",
      ...choices.map((choice) => choice.label),
      `${choices.map((_, n) => `[${n + 1}]`).join(" ")} [Answer…]`,
    ]);
    await press(world, BEN, message, "answer_choice_9");
    await world.until(() => world.service.answers[0]?.answer === "c9");
    await world.until(() => said(world, root)[0]?.at(-1) === `@Ben answered: ${label(9)}`);
  });

  it("more choices than fit are counted", { tags: "all" }, async () => {
    await using world = await start();
    const choices = Array.from({ length: 30 }, (_, n) => ({ id: `c${n}`, label: `Page ${n}` }));
    const { root, message } = await asked(world, { choices, allowsText: false });
    expect(said(world, root)[0]?.slice(2)).toEqual([
      "6 more choices don't fit here.",
      choices
        .slice(0, 24)
        .map((choice) => `[${choice.label}]`)
        .join(" "),
    ]);
    await press(world, BEN, message, "answer_choice_23");
    await world.until(() => world.service.answers[0]?.answer === "c23");
  });
});

describe("several turns and places", () => {
  it("a follow-up's agent asks for the follow-up, and mentions whoever asked for that", async () => {
    await using world = await start();
    const { service } = world;
    const root = await ask(world);
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.until(() => said(world, root).length === 1);
    await reply(world, root, "and the FAQ", BEN);
    await world.until(() => service.messages.length === 1);
    asks(world);
    await world.until(() => said(world, root).length === 3);
    expect(said(world, root)[2]).toEqual(["💬 @Ben The agent asks:", ...OPEN.slice(1)]);
    await world.until(() => said(world, root)[1]?.[0] === WAITING);
  });

  it("moves to a direct message when the channel no longer takes it", { tags: "all" }, async () => {
    await using world = await start();
    const { slack } = world;
    await ask(world);
    slack.workspace.archiveChannel(DOCS);
    asks(world);
    const message = await world.until(() => slack.dm(ANA)[0]);
    expect(slack.visibleText(message).split("\n")).toEqual([
      "#docs is archived, so I'm replying here.",
      ...OPEN,
    ]);
    const click = { channel: message.channel, messageTs: message.ts, actionId: "answer_choice_0" };
    await slack.person(ANA).click(click);
    await world.until(() =>
      slack.visibleText(slack.dm(ANA)[0] ?? message).includes("@Ana answered: Install"),
    );
    expect(slack.dm(ANA)).toHaveLength(1);
    expect(world.service.answers).toHaveLength(1);
  });

  it("a service that speaks only the contract is followed as before", async () => {
    await using world = await World.start();
    const root = await ask(world);
    asks(world);
    await world.until(() => stateOf(world) === WORKING);
    await world.pass(HOUR_MS);
    expect(said(world, root)).toEqual([]);
    expect(stateOf(world)).toBe(WORKING);
  });
});
