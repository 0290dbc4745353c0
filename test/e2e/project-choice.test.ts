import { describe, expect, it } from "vitest";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";
import type { OpenView } from "../../world/slack/index.ts";
import { MINUTE_MS, askedFor } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../support/world.ts";

const QUESTION = "Which project is this for?";
const projects = { docs: { apiKey: DEFAULT_API_KEY }, api: { apiKey: DEFAULT_API_KEY } };

/** A world with the projects docs and api. `apiChannels` are the channels of api. */
async function start(apiChannels: string[] = []): Promise<World> {
  const channels = apiChannels.length === 0 ? {} : { channels: apiChannels };
  const listed = [
    { name: "docs", id: "docs" },
    { name: "api", id: "api", ...channels },
  ];
  const env = { DOCS_AGENT_PROJECT_ID: undefined, DOCS_AGENT_PROJECTS: JSON.stringify(listed) };
  const world = await World.start({ env, jobService: { projects } });
  world.slack.workspace.invite(RANDOM);
  return world;
}

/** Where each request went, in the order in which they were sent. */
function sent(world: World): string[] {
  return world.service.creates.map((create) => `${create.projectId}: ${askedFor(create)}`);
}

async function asked(world: World, who = ANA) {
  return world.until(() =>
    world.slack.ephemerals(who).findLast((shown) => world.slack.visibleText(shown).includes(QUESTION)),
  );
}

/** Presses a button of the newest question to a person. */
async function choose(world: World, n: number, channel = DOCS, who = ANA) {
  const { ts } = await asked(world, who);
  return world.slack
    .person(who)
    .click({ channel, messageTs: ts, actionId: `choose_project_${n}`, ephemeral: true });
}

/** The project that a form begins with, and why. */
function begins({ view }: OpenView): [project: string | undefined, why: string | undefined] {
  const block = view.blocks.find(({ block_id: id }) => id === "project");
  if (block?.type !== "input" || block.element.type !== "static_select") return [undefined, undefined];
  return [block.element.initial_option?.text.text, block.hint?.text];
}

describe("a channel with a project", () => {
  it("gives it to commands and mentions there, unless they name another one", async () => {
    await using world = await start([DOCS]);
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix one" });
    await world.slack.person(ANA).mention({ channel: DOCS, text: "fix two" });
    await world.slack.person(ANA).command({ channel: DOCS, text: "project=docs fix three" });
    await world.until(() => sent(world).length === 3);
    expect(sent(world).toSorted()).toEqual(["api: fix one", "api: fix two", "docs: fix three"]);
  });

  it("gives it to the form, which says why", async () => {
    await using world = await start([DOCS]);
    await world.slack.person(ANA).command({ channel: DOCS });
    expect(begins(await world.form(ANA))).toEqual([
      "api",
      "This channel uses it. You can choose another one.",
    ]);
  });
});

describe("elsewhere, once a channel has a project,", () => {
  it.each(["command", "mention"] as const)("a %s is kept until its person says, once", async (way) => {
    await using world = await start([RANDOM]);
    await world.slack.person(ANA)[way]({ channel: DOCS, text: "fix the install page" });
    expect(world.slack.visibleText(await asked(world))).toContain("[docs] [api]");
    await world.pass(MINUTE_MS);
    expect(sent(world)).toEqual([]);
    await choose(world, 1);
    await choose(world, 0).catch(() => undefined);
    await world.until(() => sent(world).length === 1);
    await world.pass(MINUTE_MS);
    expect(sent(world)).toEqual(["api: fix the install page"]);
    // The next one goes where the person said.
    await world.slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => sent(world).length === 2);
    expect(sent(world)[1]).toBe("api: fix the FAQ");
    await world.slack.person(ANA).command({ channel: DOCS });
    expect(begins(await world.form(ANA))).toEqual(["api", "You chose it last. You can choose another one."]);
  });

  it("nobody else can answer, and others are asked for themselves", async () => {
    await using world = await start([RANDOM]);
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix one" });
    await choose(world, 1);
    await world.slack.person(BEN).command({ channel: DOCS, text: "fix two" });
    expect(world.slack.visibleText(await asked(world, BEN))).toContain(QUESTION);
    expect(sent(world)).toEqual(["api: fix one"]);
  });

  it("a follow-up goes to its job, and nobody is asked", async () => {
    await using world = await start([RANDOM]);
    await world.slack.person(ANA).command({ channel: DOCS, text: "project=api fix one" });
    const root = await world.until(() => world.slack.messages(DOCS)[0]);
    await world.slack.person(BEN).mention({ channel: DOCS, threadTs: root.ts, text: "and the FAQ" });
    await world.until(() => world.service.messages.length === 1);
    await world.pass(MINUTE_MS);
    expect(world.slack.ephemerals(BEN)).toEqual([]);
    await world.slack.person(BEN).mention({ channel: DOCS, threadTs: root.ts, text: "new: fix two" });
    await choose(world, 0, DOCS, BEN);
    await world.until(() => sent(world).length === 2);
    expect(sent(world)[1]).toBe("docs: fix two");
  });

  it("the form begins without a project, and what is chosen there counts the next time", async () => {
    await using world = await start([RANDOM]);
    await world.slack.person(ANA).command({ channel: DOCS });
    const form = await world.form(ANA);
    expect(begins(form)).toEqual([undefined, undefined]);
    const values = { instructions: { instructions: "fix one" }, project: { project: "api" } };
    await world.slack.person(ANA).submit({ viewId: form.id, values });
    await world.until(() => sent(world).length === 1);
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix two" });
    await world.until(() => sent(world).length === 2);
    expect(sent(world)).toEqual(["api: fix one", "api: fix two"]);
  });
});

it("where no channel has a project, the first is the default, and the form says so", async () => {
  await using world = await start();
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix one" });
  await world.until(() => sent(world).length === 1);
  expect(sent(world)).toEqual(["docs: fix one"]);
  await world.slack.person(ANA).command({ channel: DOCS });
  const why = "It's the first of the projects. You can choose another one.";
  expect(begins(await world.form(ANA))).toEqual(["docs", why]);
});
