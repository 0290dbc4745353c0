import { expect, it } from "vitest";
import { visibleText } from "../../world/slack/index.ts";
import { TELLS_CHANGES } from "../support/service-kinds.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const MONDAY = Date.UTC(2026, 10, 23, 9);
const DAY = 86_400_000;
const MINUTE = 60_000;
const SENTENCE = "12 pull requests wait for a review, the oldest for 9 days (maria, <!channel> *tom*).";

/** The lines of the form that the command opens. */
async function form(world: World, userId: string): Promise<string[]> {
  const { slack } = world;
  const newest = () => slack.openViews(userId).at(-1);
  const before = newest()?.id;
  await slack.person(userId).command({ channel: DOCS, text: "" });
  const { view } = await slack.until(() => newest()?.id !== before && newest());
  return visibleText({ text: "", blocks: view.blocks }, (id) => slack.workspace.nameOf(id)).split("\n");
}

it("the form says how many pull requests wait, while the service says that they are too many", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: TELLS_CHANGES });
  const { service, slack } = world;
  const { feed } = service;
  if (feed === null) throw new Error("the service has no feed");
  const since = new Date(MONDAY - 9 * DAY).toISOString();
  feed.waitingReviews = { count: 12, since, reviewers: ["maria", "<!channel> *tom*"] };
  // Before anybody has asked for anything, nothing is heard of the service.
  expect(await form(world, ANA)).not.toContain(SENTENCE);
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => feed.isCaughtUp);
  expect((await form(world, BEN))[0]).toBe(SENTENCE);
  feed.waitingReviews = undefined;
  await world.pass(2 * MINUTE);
  expect((await form(world, BEN)).join()).not.toContain("wait for a review");
});

it("a form shows nothing of it with a service that doesn't tell", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => world.service.creates.length === 1);
  await world.pass(MINUTE);
  expect((await form(world, BEN)).join()).not.toContain("wait for a review");
});
