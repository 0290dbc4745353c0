import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";
import { MINUTE_MS, ask, done, jobOf, reply, said, askedFor } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const KEY = { apiKey: DEFAULT_API_KEY };
const PROJECTS = { projects: { docs: KEY, api: KEY } };
const TWO = {
  jobService: PROJECTS,
  env: { DOCS_AGENT_PROJECTS: '[{"name":"docs","id":"docs"},{"name":"api","id":"api"}]' },
};
const SMILE = "blush";

function dmOf(world: World): string {
  return world.slack.workspace.openDirectMessage([ANA]).id;
}

/** What Ana writes to the app, outside of threads or in one. */
async function write(world: World, text: string, thread?: SlackMessage) {
  const place = { channel: dmOf(world), ...(thread === undefined ? {} : { threadTs: thread.ts }) };
  const sent = await world.slack.person(ANA).say({ ...place, text });
  expect(sent.status).toBe(200);
  await world.settle();
  return sent;
}

function counts({ service }: World) {
  return {
    jobs: service.creates.length,
    followUps: service.messages.length,
    answers: service.answers.length,
  };
}

function reactions(world: World, { channel, ts }: SlackMessage): string[] {
  const message = world.slack.messages(channel).find((other) => other.ts === ts);
  return (message?.reactions ?? []).map(({ name }) => name);
}

function firstLines(world: World, userId = ANA): string[] {
  return world.slack.ephemerals(userId).map((shown) => world.slack.visibleText(shown).split("\n")[0] ?? "");
}

const HELP = "*Ask for a docs change and get a pull request:*";
const NO_LIST = "You have no recent requests.";
const NO_PROJECT = "There's no project “nope”. Choose from: docs, api.";

/** What is typed, what is told privately, and what a job is started with: its project and prompt. */
const SPELLINGS: [typed: string, told: string | null, job?: [project: string, prompt: string]][] = [
  ["help?", HELP],
  ["--help", HELP],
  ["*Help!*", HELP],
  ["?", HELP],
  [": list", NO_LIST],
  ["status.", NO_LIST],
  ["fix it project=nope", NO_PROJECT],
  ["project=nope fix it", NO_PROJECT],
  ["project=api: fix it", null, ["api", "fix it"]],
  ["fix it project=api", null, ["api", "fix it"]],
  ["fix project=api the endpoint", null, ["api", "fix the endpoint"]],
  ["say that “project=api” is wrong", null, ["docs", "say that “project=api” is wrong"]],
  ["new users can't find the key", null, ["docs", "new users can't find the key"]],
];

describe.each(SPELLINGS)("%j", (typed, told, job) => {
  it.each(["a command", "a mention", "a direct message"])("as %s", async (way) => {
    await using world = await World.start(TWO);
    const { slack, service } = world;
    const ana = slack.person(ANA);
    if (way === "a command") await ana.command({ channel: DOCS, text: typed });
    else if (way === "a mention") await ana.mention({ channel: DOCS, text: typed });
    else await write(world, typed);
    await world.pass(MINUTE_MS);
    expect(service.creates.map(({ projectId, prompt }) => [projectId, prompt])).toEqual(job ? [job] : []);
    expect(firstLines(world)).toEqual(told === null ? [] : [told]);
  });
});

describe("thanks", () => {
  it.each(["mention", "ask", "requester"])(
    "in a job's thread get a reaction, once, and no run (%s)",
    async (policy) => {
      await using world = await World.start({ jobService: { level: 1 }, env: { FOLLOW_UPS: policy } });
      const { slack } = world;
      const root = await done(world);
      const { message, delivery } = await slack
        .person(BEN)
        .mention({ channel: DOCS, threadTs: root.ts, text: "thank you :pray:" });
      if (delivery !== undefined) await slack.redeliver(delivery, { resign: true });
      await world.pass(MINUTE_MS);
      await world.stopApp();
      await world.startApp();
      if (delivery !== undefined) await slack.redeliver(delivery, { resign: true });
      const plain = await slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: "ok, great" });
      await world.pass(MINUTE_MS);
      expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 0 });
      expect(reactions(world, message)).toEqual([SMILE]);
      // Without a mention, only the requester's are certainly meant for the app.
      expect(reactions(world, plain.message)).toEqual(policy === "requester" ? [SMILE] : []);
      const added = slack.calls.filter(
        ({ method, args }) => method === "reactions.add" && args["name"] === SMILE,
      );
      expect(added).toHaveLength(policy === "requester" ? 2 : 1);
      expect(slack.ephemerals()).toEqual([]);

      await reply(world, root, "thanks, now the glossary, too", ANA);
      await world.until(() => world.service.messages.length === 1);
      const files = [{ name: "menu.png", mimetype: "image/png", content: "PNG" }];
      await slack.person(ANA).mention({ channel: DOCS, threadTs: root.ts, text: "thanks!", files });
      await world.until(() => world.service.messages.length === 2);
    },
  );

  it("get nothing where the app may not react", async () => {
    await using world = await World.start({ withoutScopes: ["reactions:write"] });
    const root = await done(world);
    await reply(world, root, "thanks!");
    await world.pass(MINUTE_MS);
    expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 0 });
    expect([world.slack.ephemerals(), world.logger.text("error")]).toEqual([[], ""]);
  });
});

describe("another job", () => {
  it("is asked for with a colon, and says that it is separate; other words are a follow-up", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const root = await done(world);
    await reply(world, root, "new users can't find the key");
    await world.until(() => service.messages.length === 1);
    expect(service.messages.map(askedFor)).toEqual(["new users can't find the key"]);
    await reply(world, root, "new: fix the glossary");
    await reply(world, root, "new job fix the FAQ", ANA);
    await world.until(() => service.creates.length === 3);
    expect(service.creates.slice(1).map(askedFor).toSorted()).toEqual(["fix the FAQ", "fix the glossary"]);
    await world.until(
      () => said(world, root).filter(([line]) => line === "This is a separate request.").length === 2,
    );
  });

  it("in another project says so, too", async () => {
    await using world = await World.start({ ...TWO, jobService: { ...PROJECTS, level: 1 } });
    const root = await done(world);
    await reply(world, root, "the same in the endpoints project=api");
    await world.until(() => world.service.creates.length === 2);
    expect(world.service.creates[1]).toMatchObject({ projectId: "api" });
    await world.until(() => said(world, root).some(([line]) => line === "This is a separate request."));
  });
});

describe("a question in direct messages", () => {
  /** Ana's request there, whose agent asks. */
  async function asked(question: Parameters<World["service"]["ask"]>[1] = {}, options: WorldOptions = {}) {
    const world = await World.start({ jobService: { level: 1 }, ...options });
    const { message: root } = await write(world, "fix the install page");
    await world.until(() => world.service.creates.length === 1);
    world.service.ask(jobOf(world), question);
    await world.until(() => world.replies(root.channel, root.ts).length === 2);
    return { world, root, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  }

  /** Presses a button of the private question. */
  async function press(world: World, actionId: string) {
    const [which] = await world.until(() => {
      const shown = world.slack.ephemerals(ANA);
      return shown.length > 0 ? shown : undefined;
    });
    const click = { channel: dmOf(world), messageTs: which?.ts ?? "", ephemeral: true, actionId };
    expect((await world.slack.person(ANA).click(click)).status).toBe(200);
    await world.settle();
  }

  it("is answered outside of its thread by the name of a choice, once", async () => {
    await using at = await asked();
    const { world } = at;
    const { delivery } = await write(world, "faq!");
    if (delivery !== undefined) await world.slack.redeliver(delivery, { resign: true });
    await world.until(() => world.service.answers.length === 1);
    await world.stopApp();
    await world.startApp();
    if (delivery !== undefined) await world.slack.redeliver(delivery, { resign: true });
    await world.pass(MINUTE_MS);
    expect(world.service.answers.map(({ answer }) => answer)).toEqual(["2"]);
    expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 1 });
    expect(world.slack.ephemerals()).toEqual([]);
  });

  it("other words are asked about, once, and are the answer if their author says so", async () => {
    await using at = await asked();
    const { world } = at;
    const { delivery } = await write(world, "both of them");
    if (delivery !== undefined) await world.slack.redeliver(delivery, { resign: true });
    await world.pass(MINUTE_MS);
    expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 0 });
    expect(world.slack.ephemerals(ANA).map((shown) => world.slack.visibleText(shown).split("\n"))).toEqual([
      ["Is this your answer, or a new request?", "Which page?", "[Answer] [New request]"],
    ]);
    await press(world, "reply_is_answer");
    await world.until(() => world.service.answers.length === 1);
    if (delivery !== undefined) await world.slack.redeliver(delivery, { resign: true });
    await world.pass(MINUTE_MS);
    expect(world.service.answers.map(({ answer }) => answer)).toEqual(["both of them"]);
    expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 1 });
    expect(world.slack.ephemerals()).toEqual([]);
  });

  it("other words are a request if their author says so", async () => {
    await using at = await asked();
    const { world } = at;
    const { message } = await write(world, "fix the glosary");
    await world.slack
      .person(ANA)
      .edit({ channel: dmOf(world), messageTs: message.ts, text: "fix the glossary" });
    await press(world, "send_reply");
    await world.until(() => world.service.creates.length === 2);
    await world.pass(MINUTE_MS);
    expect(world.service.creates[1]?.prompt).toBe("fix the glossary");
    expect(counts(world)).toEqual({ jobs: 2, followUps: 0, answers: 0 });
  });

  it("the answer is refused, and the request still possible, once the agent has moved on", async () => {
    await using at = await asked();
    const { world, root } = at;
    await write(world, "fix the glossary");
    world.service.closeQuestion(jobOf(world), world.service.jobs.get(jobOf(world))?.questions[0]?.id ?? "");
    await world.until(() =>
      world
        .replies(root.channel, root.ts)
        .some((shown) => world.slack.visibleText(shown).includes("The agent stopped waiting.")),
    );
    await press(world, "reply_is_answer");
    expect(firstLines(world)).toEqual([
      "Is this your answer, or a new request?",
      "The agent stopped waiting.",
    ]);
    await press(world, "send_reply");
    await world.until(() => world.service.creates.length === 2);
    expect(counts(world)).toEqual({ jobs: 2, followUps: 0, answers: 0 });
  });

  it("asks nothing where words can't be the answer", async () => {
    await using at = await asked({ allowsText: false });
    const { world } = at;
    await write(world, "help");
    await write(world, "fix the glossary");
    await world.until(() => world.service.creates.length === 2);
    expect(firstLines(world)).toEqual([HELP]);
  });
});

it("a choice may be called like a subcommand", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await ask(world);
  const choices = ["list", "help", "new"].map((label, n) => ({ id: `${n}`, label }));
  world.service.ask(jobOf(world), { choices, allowsText: false });
  await world.until(() => said(world, root)[0]?.[1] === "Which page?");
  await reply(world, root, "List!");
  await world.until(() => world.service.answers.length === 1);
  await world.pass(MINUTE_MS);
  expect(world.service.answers.map(({ answer }) => answer)).toEqual(["0"]);
  expect(counts(world)).toEqual({ jobs: 1, followUps: 0, answers: 1 });
  expect(world.slack.ephemerals()).toEqual([]);
});
