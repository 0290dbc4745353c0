import { expect, it } from "vitest";
import { DAY_MS, type Followed, linked, MONDAY, review, stands, stateOf, told } from "../support/followed.ts";
import type { SlackMessage } from "../../world/slack/index.ts";
import { press, privately, toldPrivately } from "../support/presses.ts";
import { LINK, MINUTE_MS, PR, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const CONFLICTS = { blockedBy: "conflicts", mergeable: false, baseRef: "main" } as const;
const CLEAN = { blockedBy: null, mergeable: true, baseRef: "main" } as const;

function start(options: WorldOptions = {}): Promise<World> {
  return World.start({ startMs: MONDAY, ...options, jobService: { level: 2, ...options.jobService } });
}

/** The newest post in the thread. */
function newest(world: World): SlackMessage {
  const last = world.slack.messages(DOCS).at(-1);
  if (last === undefined) throw new Error("no posts");
  return last;
}

/** The newest post in the thread with this button. An outcome may come before it or after it. */
function newestWith(world: World, button: string): SlackMessage {
  const found = world.slack.messages(DOCS).findLast((post) => buttonsIn(post).includes(button));
  if (found === undefined) throw new Error(`no button ${button}`);
  return found;
}

function buttonsIn({ blocks = [] }: SlackMessage): string[] {
  return blocks
    .flatMap((block) => (block.type === "actions" ? block.elements : []))
    .flatMap((element) => (element.type === "button" ? [element.text.text] : []));
}

/** A thread whose pull request has requested changes, and the post that tells them. */
async function reviewed(options: WorldOptions = {}, followed: Followed = {}) {
  const world = await start(options);
  const jobId = await linked(world);
  const reviews = [review("1", "The FAQ, too.", "priya")];
  const asked: Followed = { review: "changes-requested", reviews, roundsLeft: 3, ...followed };
  await stands(world, jobId, asked);
  return { world, jobId, asked, post: newest(world) };
}

it("shows conflicts before all else, and tells them once", async () => {
  await using world = await start({ jobService: { level: 1 } });
  const jobId = await linked(world);
  const checks: Followed["checks"] = { state: "failed", failed: ["links"] };
  await stands(
    world,
    jobId,
    CONFLICTS,
    { ...CONFLICTS, review: "approved" },
    { ...CONFLICTS, isDraft: true },
  );
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  const conflicts = `⚠️ @Ana ${LINK} conflicts with main.`;
  expect(told(world)).toEqual([conflicts]);
  await stands(world, jobId, { ...CONFLICTS, checks });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  // The code host works it out anew after each push to the base branch.
  await stands(world, jobId, { blockedBy: "checks", mergeable: null, checks, baseRef: "main" });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  await stands(world, jobId, { ...CLEAN, checks });
  expect(stateOf(world)).toBe(`❌ Checks failed: ${LINK}`);
  // They come back: at most once a day.
  await stands(world, jobId, { ...CONFLICTS, checks });
  expect(told(world).filter((text) => text === conflicts)).toHaveLength(1);
  await world.pass(DAY_MS);
  expect(told(world).filter((text) => text === conflicts)).toHaveLength(2);
  await stands(world, jobId, { state: "merged" });
  expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
  expect(told(world)).toHaveLength(4);
});

it("names no base branch that nobody named", { tags: "all" }, async () => {
  await using world = await start({ jobService: { level: 1 } });
  const jobId = await linked(world);
  await stands(world, jobId, { blockedBy: "conflicts" });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with the base branch: ${LINK}`);
  expect(told(world)).toEqual([`⚠️ @Ana ${LINK} conflicts with the base branch.`]);
});

it("tells nobody of conflicts that are resolved before the post", { tags: "all" }, async () => {
  await using world = await start({ jobService: { level: 1 } });
  const jobId = await linked(world);
  const fault = { kind: "error", error: "internal_error" } as const;
  const off = world.slack.faults.add({ method: "chat.postMessage", times: 1e9, fault });
  const busy: Followed = { checks: { state: "failed", failed: ["links"] } };
  await stands(world, jobId, { ...CLEAN, ...busy }, { ...CONFLICTS, ...busy }, { ...CLEAN, ...busy });
  off();
  await world.pass(6 * 60 * MINUTE_MS);
  expect(told(world)).toEqual([`❌ @Ana "links" failed on ${LINK}.`]);
});

it("says why a review asks for changes, and what a check says, with its link", async () => {
  await using world = await start({ jobService: { level: 1 } });
  const jobId = await linked(world);
  const comment = (line: number | null) => ({ path: "docs/faq.md", line, words: `Comment ${line}\nmore` });
  const reviews = [
    { ...review("1", "The FAQ, too."), comments: [comment(12), comment(null)] },
    { ...review("2", "", "tom"), comments: [1, 2, 3, 4, 5].map(comment) },
  ];
  await stands(world, jobId, { review: "changes-requested", reviews });
  expect(told(world)).toEqual([
    [
      `✏️ @Ana maria and tom ask for changes in ${LINK}:`,
      "maria",
      "The FAQ, too.",
      "• docs/faq.md:12: Comment 12 more",
      "• docs/faq.md: Comment null more",
      "tom",
      "• docs/faq.md:1: Comment 1 more",
      "• docs/faq.md:2: Comment 2 more",
      "• docs/faq.md:3: Comment 3 more",
      "… and 2 more",
    ].join("\n"),
  ]);
  const url = "https://ci.example/1";
  const lost = { name: "links", words: "docs/api.md links to a lost heading", url };
  await stands(world, jobId, { checks: { state: "failed", failed: ["links"], reasons: [lost] } });
  expect(told(world)[1]).toBe(
    `❌ @Ana "links" failed on ${LINK}:\ndocs/api.md links to a lost heading\nSee the check (${url})`,
  );
  const build = { name: "build", words: "", url: "javascript:alert(1)" };
  await stands(world, jobId, {
    headSha: "b".repeat(40),
    checks: { state: "failed", failed: ["links", "build"], reasons: [lost, build] },
  });
  expect(told(world)[2]).toBe(
    [
      `❌ @Ana "links" and "build" failed on ${LINK}:`,
      "links",
      "docs/api.md links to a lost heading",
      `See the check (${url})`,
      "build",
    ].join("\n"),
  );
});

it("offers nothing about a review that a bot alone wrote", async () => {
  const bots = { ...review("1", "Use serial commas.", "lint"), isBot: true };
  const { world, jobId, asked, post } = await reviewed({}, { reviews: [bots] });
  await using _ = world;
  expect(world.slack.visibleText(post)).toContain("lint asks for changes");
  expect(buttonsIn(post)).toEqual([]);
  await stands(world, jobId, { ...asked, reviews: [bots, review("2", "The FAQ, too.", "priya")] });
  expect(buttonsIn(newest(world))).toEqual(["Make these changes"]);
});

it("makes the changes of a review for whoever presses first, once", async () => {
  const { world, jobId, asked, post } = await reviewed();
  await using _ = world;
  expect(buttonsIn(post)).toEqual(["Make these changes"]);
  const again = await press(world, BEN, post, "make_changes");
  await again();
  await world.until(() => world.service.acts.length === 1);
  await world.pass(MINUTE_MS);
  expect(told(world).at(-1)).toBe(
    "@Ben followed up:\nMake the changes that priya asked for.\n🔧 Follow-up sent to the agent.",
  );
  await press(world, ANA, post, "make_changes");
  await press(world, BEN, post, "make_changes");
  expect(await toldPrivately(world, ANA, 1)).toBe("@Ben already asked for that.");
  expect(privately(world, BEN).at(-1)).toBe("You already asked for that.");
  world.service.finish(jobId, { status: "completed", prLink: PR, turn: { summary: "Renamed it." } });
  const pushed: Followed = { ...asked, headSha: "b".repeat(40), roundsLeft: 2 };
  await stands(world, jobId, pushed);
  expect(told(world).at(-1)).toContain(`✅ @Ben The agent updated ${LINK}.`);
  expect(told(world).join("\n")).not.toContain("followed up:");
  expect(stateOf(world)).toBe(`👀 Waiting for review: ${LINK}`);
  const call = world.service.calls.find(({ op }) => op === "address");
  expect(call).toMatchObject({ jobId, prompt: null, words: null, requester: { name: "Ben" } });
  expect(world.service.acts).toEqual([expect.objectContaining({ jobId, act: "address" })]);
  // What comes after the push is another round.
  const reviews = [...(asked.reviews ?? []), review("2", "And the glossary.", "priya")];
  await stands(world, jobId, { ...pushed, reviews });
  await press(world, ANA, newest(world), "make_changes");
  await world.until(() => world.service.acts.length === 2);
  expect(world.service.messages).toEqual([]);
});

it("brings it up to date, and lets the agent fix a check", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, CONFLICTS);
  expect(buttonsIn(newest(world))).toEqual(["Update it"]);
  await press(world, ANA, newest(world), "update_pull_request");
  await world.until(() => world.service.acts.length === 1);
  await world.pass(MINUTE_MS);
  expect(told(world).at(-1)).toContain(
    "Bring the pull request up to date with main.\n🔧 Follow-up sent to the agent.",
  );
  world.service.finish(jobId, { status: "completed", prLink: PR });
  const checks: Followed["checks"] = { state: "failed", failed: ["links", "build"] };
  await stands(world, jobId, { ...CLEAN, headSha: "b".repeat(40), checks });
  await press(world, ANA, newestWith(world, "Let the agent fix it"), "fix_checks");
  await world.until(() => world.service.acts.length === 2);
  await world.pass(MINUTE_MS);
  expect(told(world).at(-1)).toContain('\nFix the failed checks "links" and "build".\n');
  expect(world.service.acts.map(({ act }) => act)).toEqual(["update", "address"]);
});

it("does nothing for people who may not steer the request", async () => {
  const { world, post } = await reviewed({ env: { FOLLOW_UPS: "requester" } });
  await using _ = world;
  await press(world, BEN, post, "make_changes");
  expect(await toldPrivately(world, BEN, 1)).toContain("Only");
  await world.pass(MINUTE_MS);
  expect(world.service.acts).toEqual([]);
  expect(world.read(DOCS)).toHaveLength(3);
});

it("does nothing for guests", { tags: "all" }, async () => {
  const { world, post } = await reviewed();
  await using _ = world;
  world.slack.workspace.addUser({ id: "U0GUS", name: "gus", guest: "multi-channel" });
  world.slack.workspace.invite(DOCS, "U0GUS");
  await press(world, "U0GUS", post, "make_changes");
  await world.pass(MINUTE_MS);
  expect(world.service.acts).toEqual([]);
  expect(world.read(DOCS)).toHaveLength(3);
});

it.each([1, 0] as const)("offers nothing with a service of level %s", async (level) => {
  const { world, post } = await reviewed({ jobService: { level } });
  await using _ = world;
  expect(buttonsIn(post)).toEqual(level === 0 ? ["View pull request"] : []);
  if (level === 1) {
    await stands(world, "job_1", CONFLICTS);
    expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
    expect(buttonsIn(newest(world))).toEqual([]);
  }
});

it("offers what comes after the agent's work, and no fourth round", async () => {
  const { world, jobId, asked, post } = await reviewed();
  await using _ = world;
  await reply(
    world,
    post.thread_ts === undefined ? post : { ...post, ts: post.thread_ts },
    "and the FAQ",
    ANA,
  );
  await world.until(() => world.service.messages.length === 1);
  const checks: Followed["checks"] = { state: "failed", failed: ["links"] };
  await stands(world, jobId, { ...asked, checks });
  expect(told(world).at(-1)).toContain('"links" failed');
  expect(buttonsIn(newest(world))).toEqual(["Let the agent fix it"]);
  await press(world, BEN, newest(world), "fix_checks");
  await world.until(() => world.service.acts.length === 1);
  expect(told(world).at(-1)).toContain('Fix the failed check "links".\n🔧 Follow-up sent to the agent.');
  world.service.finish(jobId, { status: "completed", prLink: PR });
  world.service.finish(jobId, { status: "completed", prLink: PR });
  await stands(world, jobId, { ...asked, roundsLeft: 0, headSha: "b".repeat(40), checks });
  const over = "The agent has answered three rounds of reviews and checks. Now a person has to decide.";
  expect(told(world)).toContain(`❌ @Ana "links" failed on ${LINK}.\n${over}`);
  await press(world, BEN, post, "make_changes");
  expect(await toldPrivately(world, BEN, 1)).toBe(over);
  await stands(world, jobId, { ...asked, state: "merged" });
  await press(world, BEN, post, "make_changes");
  expect(await toldPrivately(world, BEN, 2)).toBe("The pull request isn't open anymore.");
  expect(world.service.acts).toHaveLength(1);
});

it("says in the thread why the service does nothing", async () => {
  const { world, post } = await reviewed();
  await using _ = world;
  world.service.declines = "No <!channel> comment waits for an answer.";
  await press(world, BEN, post, "make_changes");
  await world.pass(MINUTE_MS);
  expect(told(world).slice(-2)).toEqual([
    "@Ben followed up:\nMake the changes that priya asked for.\n⛔ Not started",
    "⛔ @Ben The agent didn't start on this.\nNo <!channel> comment waits for an answer.",
  ]);
});

it("asks once, whatever becomes of the answer, and never makes another job of it", async () => {
  const { world, jobId, post } = await reviewed();
  await using _ = world;
  world.service.faults.add({ op: "address", times: 2, fault: { kind: "drop-after" } });
  await press(world, BEN, post, "make_changes");
  await world.pass(5 * MINUTE_MS);
  expect(world.service.acts).toHaveLength(1);
  const calls = world.service.calls.filter(({ op }) => op === "address");
  expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect(calls).toHaveLength(3);
  world.service.finish(jobId, { status: "completed", prLink: PR });
  await stands(world, jobId, { ...CONFLICTS });
  world.service.forget(jobId);
  await press(world, BEN, newestWith(world, "Update it"), "update_pull_request");
  await world.pass(5 * MINUTE_MS);
  expect(told(world).at(-1)).toContain("❓ @Ben The agent no longer has this request.");
  expect(world.service.creates).toHaveLength(1);
});

it("is stopped as any follow-up, and tried again", async () => {
  const { world, post } = await reviewed();
  await using _ = world;
  await press(world, BEN, post, "make_changes");
  await world.until(() => world.service.acts.length === 1);
  await world.pass(MINUTE_MS);
  await press(world, BEN, newest(world), "stop_turn");
  await world.pass(MINUTE_MS);
  expect(world.service.cancels).toEqual(["job_1/2"]);
  await press(world, ANA, newest(world), "try_again");
  await world.until(() => world.service.acts.length === 2);
  expect(world.service.messages).toEqual([]);
});
