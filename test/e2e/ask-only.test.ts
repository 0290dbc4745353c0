import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { type Followed, linked, MONDAY, review, stands } from "../support/followed.ts";
import { press, privately } from "../support/presses.ts";
import { done, MINUTE_MS, PR, reply, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, RANDOM, World, type WorldOptions } from "../support/world.ts";

const CONTACT = "your Docs Agent admin";
const NOTE = `I only answer questions here and change nothing. For a change, contact ${CONTACT}.`;
const WORDS = "fix the install page";

/** A world whose job service speaks level 3, and where #docs only gets answers. */
function start(options: WorldOptions = {}): Promise<World> {
  return World.start({
    env: { ASK_ONLY: DOCS },
    startMs: MONDAY,
    prepare: ({ slack }) => slack.workspace.invite(RANDOM),
    ...options,
    jobService: { level: 3, ...options.jobService },
  });
}

/** The agent answers the newest question. */
function answered(world: World, answer: string): void {
  const { jobId = "" } = world.service.asks.at(-1) ?? {};
  world.service.finish(jobId, { status: "completed", turn: { answer, summary: answer } });
}

/** That nothing but questions has reached the service. */
async function expectOnlyAsked(world: World, prompts: readonly string[]): Promise<void> {
  await world.pass(5 * MINUTE_MS);
  const { service } = world;
  expect(service.asks.map(({ prompt }) => prompt.split("\n", 1)[0])).toEqual(prompts);
  expect([service.creates, service.messages, service.acts, service.closed]).toEqual([[], [], [], []]);
}

function buttonsIn({ blocks = [] }: Pick<SlackMessage, "blocks">): string[] {
  return [...JSON.stringify(blocks).matchAll(/"action_id":"(\w+)"/g)].map(([, id = ""]) => id);
}

/** The ways to ask for something, and the words that then reach the service. */
const WAYS: Record<string, [ask: (world: World) => Promise<unknown>, sent?: string]> = {
  "a command": [({ slack }) => slack.person(ANA).command({ channel: DOCS, text: WORDS })],
  "a mention": [({ slack }) => slack.person(ANA).mention({ channel: DOCS, text: WORDS })],
  "the form of the command": [
    async ({ slack }) => {
      await slack.person(ANA).command({ channel: DOCS });
      const [form] = slack.openViews(ANA);
      expect(JSON.stringify(form?.view)).toContain("What do you want to know?");
      await slack
        .person(ANA)
        .submit({ viewId: form?.id ?? "", values: { instructions: { instructions: WORDS } } });
    },
  ],
  "the shortcut, without words": [
    async (world) => {
      const { slack } = world;
      const { ts } = slack.workspace.say({ channel: DOCS, user: BEN, text: "Does it need version 22?" });
      await slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: ts });
      const form = await slack.until(() => slack.openViews(ANA)[0]);
      await slack.person(ANA).submit({ viewId: form.id });
    },
    "Answer what this message asks.",
  ],
};

describe("ASK_ONLY", () => {
  it.each(Object.entries(WAYS))("sends a question and nothing else: %s", async (_, [act, sent = WORDS]) => {
    await using world = await start();
    await act(world);
    await world.until(() => world.service.asks.length === 1);
    answered(world, "Version 22 (docs/install.md:3).");
    const text = await world.until(() => world.read(DOCS).find((each) => each.includes("Version 22 (")));
    expect(text).toContain(`\n${NOTE}`);
    await expectOnlyAsked(world, [sent]);
  });

  it("sends follow-ups, answers of others, Try again and suggestions as questions", async () => {
    await using world = await start({ env: { ASK_ONLY: "all", FOLLOW_UPS: "requester" } });
    const { slack, service } = world;
    await slack.person(ANA).command({ channel: DOCS, text: WORDS });
    await world.until(() => service.asks.length === 1);
    const root = await world.until(() => slack.messages(DOCS)[0]);
    expect(slack.visibleText(root)).toContain("@Ana asked a question:");
    service.finish(service.asks[0]?.jobId ?? "", { status: "completed" });
    const nothing = await world.until(() => world.replies(DOCS, root.ts)[0]);
    expect(slack.visibleText(nothing)).toContain(`The agent gave no answer.\n${NOTE}`);
    await press(world, ANA, nothing, "try_again");
    await world.until(() => service.asks.length === 2);
    answered(world, "It is version 22.");
    await world.until(() => world.replies(DOCS, root.ts).length >= 2);
    await reply(world, root, "then correct it", ANA);
    await world.until(() => service.asks.length === 3);
    answered(world, "I changed nothing.");
    await world.pass(MINUTE_MS);
    await slack.person(ANA).say({ channel: DOCS, threadTs: root.ts, text: "open the pull request now" });
    await world.pass(MINUTE_MS);
    await reply(world, root, "new: fix the FAQ", BEN);
    await world.until(() => service.asks.length >= 4);
    const direct = slack.workspace.openDirectMessage([BEN]).id;
    await slack.person(BEN).say({ channel: direct, text: "fix the glossary" });
    await world.until(() => service.asks.some(({ prompt }) => prompt === "fix the glossary"));
    await world.pass(5 * MINUTE_MS);
    expect([service.creates, service.messages, service.acts]).toEqual([[], [], []]);
    expect(service.asks.length).toBeGreaterThanOrEqual(5);
  });

  it("leaves other channels as they are", async () => {
    await using world = await start();
    await world.slack.person(ANA).command({ channel: RANDOM, text: WORDS });
    await world.until(() => world.service.creates.length === 1);
    expect(world.service.asks).toEqual([]);
    await world.slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await world.pass(MINUTE_MS);
    // Ben may wait for Ana's request, or ask the same.
    expect(world.service.creates).toHaveLength(1);
  });

  it.each([0, 1, 2] as const)("sends nothing to a service of level %i, and says so", async (level) => {
    await using world = await start({ jobService: { level } });
    await world.slack.person(ANA).command({ channel: DOCS, text: WORDS });
    const why = "Here I only ask the agent questions, and its service is too old for them.";
    const text = await world.until(() =>
      world.read(DOCS).find((each) => each.includes("I didn't send this")),
    );
    expect(text).toContain(`⛔ @Ana I didn't send this.\n${why} Contact ${CONTACT}, then try again.`);
    await expectOnlyAsked(world, []);
  });

  it("asks a service again that was known to be older", async () => {
    const env: Record<string, string> = {};
    await using world = await start({ env, jobService: { level: 2 } });
    await done(world);
    await world.stopApp();
    env["ASK_ONLY"] = "all";
    world.service.level = 3;
    await world.startApp();
    await world.slack.person(BEN).command({ channel: DOCS, text: "which version?" });
    const sent = await world.until(() => world.service.asks[0]);
    expect(sent.prompt).toBe("which version?");
  });

  it("that is set later hides buttons for changes, and answers those that are there", async () => {
    const env: Record<string, string> = {};
    await using world = await start({ env });
    const { service, slack } = world;
    const jobId = await linked(world);
    const reviews = [review("1", "The FAQ, too.", "priya")];
    const asked: Followed = { review: "changes-requested", reviews, roundsLeft: 3 };
    await stands(world, jobId, asked);
    const before = slack.messages(DOCS).at(-1);
    expect(before && buttonsIn(before)).toContain("make_changes");
    await world.stopApp();
    env["ASK_ONLY"] = DOCS;
    env["HELP_CONTACT"] = "<#C0HELP>";
    await world.startApp();
    if (before !== undefined) await press(world, ANA, before, "make_changes");
    await slack.until(() => privately(world, ANA).length === 1);
    expect(privately(world, ANA)[0]).toMatch(/^Sorry, I only answer questions here .*contact #/);
    // More is asked for, and a follow-up to the pull request is only a question.
    await stands(world, jobId, { ...asked, reviews: [...reviews, review("2", "The glossary.", "tom")] });
    await world.pass(60 * MINUTE_MS);
    const after = slack.messages(DOCS).at(-1);
    expect(after && slack.visibleText(after)).toContain("tom");
    expect(after && buttonsIn(after)).not.toContain("make_changes");
    const [root] = slack.messages(DOCS);
    if (root !== undefined) await reply(world, root, "and the FAQ", ANA);
    await world.until(() => service.asks.length === 1);
    expect(service.asks[0]?.jobId).toBe(jobId);
    expect([service.messages, service.acts]).toEqual([[], []]);
    expect(service.creates).toHaveLength(1);
  });

  it("closes no pull request, and adds to none", async () => {
    const env: Record<string, string> = {};
    await using world = await start({ env });
    const { service, slack } = world;
    const root = await done(world);
    service.follow(service.creates[0]?.jobId ?? "");
    await reply(world, root, "take it back", ANA);
    await world.until(() => service.messages.length === 1);
    const pullRequest = { ...reportOfLink().pullRequest, isEmpty: true };
    service.finish(service.creates[0]?.jobId ?? "", {
      status: "completed",
      prLink: PR,
      turn: { summary: "Took it back.", pullRequest },
    });
    const outcome = await world.until(() =>
      world.replies(DOCS, root.ts).find((each) => buttonsIn(each).includes("close_pull_request")),
    );
    await world.stopApp();
    env["ASK_ONLY"] = "all";
    await world.startApp();
    await press(world, ANA, outcome, "close_pull_request");
    await slack.until(() => privately(world, ANA).length === 1);
    expect(privately(world, ANA)).toEqual([`Sorry, ${NOTE}`]);
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    await slack.until(() => privately(world, BEN).length === 1);
    expect(privately(world, BEN)[0]).toContain("There's already a pull request for this");
    expect(slack.ephemerals(BEN).flatMap(buttonsIn)).not.toContain("add_to_it");
    await world.pass(5 * MINUTE_MS);
    expect(service.closed).toEqual([]);
  });
});
