import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { DAY_MS, type Followed, linked, MONDAY, review, stands, stateOf, told } from "../support/followed.ts";
import { press, privately, toldPrivately } from "../support/presses.ts";
import { LINK, MINUTE_MS, PR, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const CONFLICTS = { blockedBy: "conflicts", mergeable: false, baseRef: "main" } as const;
const CLEAN = { blockedBy: null, mergeable: true, baseRef: "main" } as const;
const CONFLICTS_TOLD = `⚠️ @Ana ${LINK} conflicts with main.`;

const start = (options: WorldOptions = {}) =>
  World.start({ startMs: MONDAY, ...options, jobService: { level: 2, ...options.jobService } });

function newest(world: World): SlackMessage {
  const last = world.slack.messages(DOCS).at(-1);
  if (last === undefined) throw new Error("no posts");
  return last;
}

async function pressOffer(world: World, who: string, actionId: string): Promise<void> {
  const shown = world.slack.ephemerals(who).at(-1);
  const click = { channel: DOCS, messageTs: shown?.ts ?? "", ephemeral: true, actionId };
  expect((await world.slack.person(who).click(click)).status).toBe(200);
  await world.settle();
}

it("a button works again after the service had nothing to do once", async () => {
  await using world = await start();
  const jobId = await linked(world);
  const failed: Followed = { ...CLEAN, roundsLeft: 3, checks: { state: "failed", failed: ["links"] } };
  await stands(world, jobId, failed);
  const post = newest(world);
  // Somebody runs the checks again, and Ben presses meanwhile.
  world.service.declines = "No review asks for changes, and no check has failed.";
  await press(world, BEN, post, "fix_checks");
  await world.pass(MINUTE_MS);
  world.service.declines = null;
  await stands(world, jobId, { ...failed, checks: { state: "pending", failed: [] } }, failed);
  expect(stateOf(world)).toBe(`❌ Checks failed: ${LINK}`);
  await press(world, BEN, post, "fix_checks");
  await world.pass(MINUTE_MS);
  expect(world.service.acts).toHaveLength(1);
});

it("conflicts that nobody was told of don't keep the next ones from being told", async () => {
  await using world = await start({ jobService: { level: 1 } });
  const jobId = await linked(world);
  const fault = { kind: "error", error: "internal_error" } as const;
  const off = world.slack.faults.add({ method: "chat.postMessage", times: 1e9, fault });
  const checks: Followed["checks"] = { state: "failed", failed: ["links"] };
  // The post of the failed check is tried all the time, so that of the conflicts waits behind it.
  await stands(world, jobId, { ...CLEAN, checks }, { ...CONFLICTS, checks }, { ...CLEAN, checks });
  off();
  await world.pass(60 * MINUTE_MS);
  expect(told(world)).toEqual([`❌ @Ana "links" failed on ${LINK}.`]);
  await stands(world, jobId, CONFLICTS);
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  await world.pass(60 * MINUTE_MS);
  expect(told(world).slice(1)).toEqual([CONFLICTS_TOLD]);
});

it.each(["add_to_it", "send_reply"])(
  "an offer stays if the limit refuses what it offers: %s",
  async (action) => {
    await using world = await start({ env: { REQUESTS_PER_PERSON: "1" } });
    const { slack, service } = world;
    await linked(world);
    await slack.person(BEN).command({ channel: DOCS, text: "fix another page" });
    await world.settle();
    await slack.person(BEN).command({ channel: DOCS, text: "fix the install page" });
    await world.settle();
    await pressOffer(world, BEN, action);
    expect(privately(world, BEN).join("\n")).toContain("reached the limit");
    await world.pass(61 * MINUTE_MS);
    // "Try again at 10:01."
    expect(privately(world, BEN).join("\n")).toContain("[Start another]");
    expect(service.messages).toEqual([]);
  },
);

it("a press about what is settled meanwhile is answered privately", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, { ...CLEAN, roundsLeft: 3, checks: { state: "failed", failed: ["links"] } });
  const ofChecks = newest(world);
  await stands(world, jobId, CONFLICTS);
  const ofConflicts = newest(world);
  await stands(world, jobId, { ...CLEAN, checks: { state: "passed", failed: [] } });
  await press(world, BEN, ofConflicts, "update_pull_request");
  expect(await toldPrivately(world, BEN, 1)).toBe("The pull request has no conflicts anymore.");
  await press(world, BEN, ofChecks, "fix_checks");
  expect(await toldPrivately(world, BEN, 2)).toBe("The checks pass now.");
  expect(world.service.acts).toEqual([]);
});

it("a press while the pull request can't be seen isn't told that it has ended", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, CONFLICTS);
  const post = newest(world);
  await stands(world, jobId, { ...CONFLICTS, isVisible: false });
  await press(world, BEN, post, "update_pull_request");
  expect(await toldPrivately(world, BEN, 1)).not.toBe("The pull request isn't open anymore.");
});

it("what the service did unasked is told before the merge that came after it, each time", async () => {
  await using world = await start();
  const { service } = world;
  const jobId = await linked(world);
  await world.stopApp();
  for (const summary of ["Renamed it.", "And the glossary."]) {
    service.beginUnasked(jobId, "address");
    service.finish(jobId, { status: "completed", prLink: PR, turn: { outcome: "pull-request", summary } });
  }
  service.follow(jobId, {
    ...CLEAN,
    state: "merged",
    headSha: "b".repeat(40),
    reviews: [review("1", "x", "priya")],
  });
  await world.startApp();
  await world.pass(30 * MINUTE_MS);
  expect(told(world).at(-1)).toContain("is merged.");
});

it("a review of an earlier commit that comes after the push is the requester's turn", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, { headSha: "b".repeat(40) });
  const reviews = [{ ...review("1", "Rename it.", "priya"), headSha: "a".repeat(40) }];
  await stands(world, jobId, { headSha: "b".repeat(40), review: "changes-requested", reviews });
  expect(told(world)[0]).toContain("priya asks for changes");
  expect(stateOf(world)).toBe(`✏️ Changes requested: ${LINK}`);
});

it("a moment in which the service can't see it doesn't start the three days anew", async () => {
  await using world = await start();
  const openedAt = new Date(MONDAY).toISOString();
  const jobId = await linked(world, PR, { openedAt });
  await world.pass(2 * DAY_MS);
  await stands(world, jobId, { openedAt, isVisible: false }, { openedAt });
  await world.pass(1.5 * DAY_MS);
  expect(told(world).join("\n")).toContain("has waited 3 working days");
});

it("a session closes when its pull request was merged while the agent worked", async () => {
  await using world = await start({ isAgent: true });
  const { service, slack } = world;
  const jobId = await linked(world);
  const root = slack.messages(DOCS)[0];
  if (root === undefined) throw new Error("no root");
  await stands(world, jobId, CONFLICTS);
  await press(world, BEN, newest(world), "update_pull_request");
  await world.pass(2 * MINUTE_MS);
  service.follow(jobId, { state: "merged" });
  await world.pass(12 * MINUTE_MS);
  service.finish(jobId, { status: "failed", turn: { reason: "The pull request was merged." } });
  await world.pass(12 * MINUTE_MS);
  expect(slack.workspace.threadStatuses.session(DOCS, root.ts)).toBe("closed");
});

it("a session closes when its pull request was opened again and closed again", async () => {
  await using world = await start({ isAgent: true });
  const { service, slack } = world;
  const jobId = await linked(world);
  const root = slack.messages(DOCS)[0];
  if (root === undefined) throw new Error("no root");
  await stands(world, jobId, { state: "closed" }, { state: "open" });
  await reply(world, root, "and the FAQ");
  await world.until(() => service.messages.length === 1);
  await world.pass(MINUTE_MS);
  service.finish(jobId, { status: "completed", prLink: PR });
  await world.pass(MINUTE_MS);
  await stands(world, jobId, { state: "closed", headSha: "b".repeat(40) });
  expect(slack.workspace.threadStatuses.session(DOCS, root.ts)).toBe("closed");
});

it("an act that failed because of the merge isn't told that the pull request is open", async () => {
  await using world = await start();
  const { service } = world;
  const jobId = await linked(world);
  await stands(world, jobId, CONFLICTS);
  await press(world, BEN, newest(world), "update_pull_request");
  await world.pass(2 * MINUTE_MS);
  service.follow(jobId, { state: "merged" });
  await world.pass(12 * MINUTE_MS);
  service.finish(jobId, {
    status: "failed",
    turn: { reason: "The pull request is merged, so its branch stays as it is." },
  });
  await world.pass(5 * MINUTE_MS);
  expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
  expect(told(world).at(-1)).not.toContain("is already open");
});

it("Add to it says so in the thread if the job is gone and a new one starts", async () => {
  await using world = await start();
  const { service, slack } = world;
  const jobId = await linked(world);
  await slack.person(BEN).command({ channel: DOCS, text: "fix the install page" });
  await world.settle();
  service.forget(jobId);
  await pressOffer(world, BEN, "add_to_it");
  await world.until(() => service.creates.length === 2);
  await world.pass(MINUTE_MS);
  service.finish(service.creates.at(-1)?.jobId ?? "", {
    status: "completed",
    prLink: PR.replace("/7", "/8"),
  });
  await world.pass(5 * MINUTE_MS);
  expect(told(world).join("\n")).toContain("That request is closed, so I started a new one.");
});

it("a pressed button that is refused isn't told to reword", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, CONFLICTS);
  world.service.faults.add({ op: "update", times: 1, fault: { kind: "status", status: 400 } });
  await press(world, BEN, newest(world), "update_pull_request");
  await world.pass(5 * MINUTE_MS);
  expect(told(world).at(-1)).not.toContain("Reword or shorten it.");
});

it("the name of a base branch is one line without marks of direction wherever it is shown", async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, { ...CONFLICTS, baseRef: `main\u202E${"w".repeat(400)}` });
  expect(told(world).at(-1)).not.toContain("\u202E");
  expect(stateOf(world)).not.toContain("\u202E");
  expect(stateOf(world).length).toBeLessThan(250);
});

it("a pull request isn't shown as open once the job has left another one", async () => {
  await using world = await start();
  const { service } = world;
  const jobId = await linked(world);
  const root = world.slack.messages(DOCS)[0];
  if (root === undefined) throw new Error("no root");
  await reply(world, root, "and the FAQ", ANA);
  await world.until(() => service.messages.length === 1);
  await world.pass(MINUTE_MS);
  const next = PR.replace("/7", "/8");
  service.finish(jobId, { status: "completed", prLink: next });
  service.follow(jobId, { url: next, number: 8 });
  await world.pass(3 * DAY_MS);
  await stands(world, jobId, { url: next, number: 8, state: "merged" });
  expect(stateOf(world)).not.toContain("Waiting for review");
});
