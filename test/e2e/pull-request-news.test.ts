import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import {
  DAY_MS as DAY,
  type Followed,
  linked,
  MONDAY,
  review,
  stands,
  stateOf,
  told,
} from "../support/followed.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { press } from "../support/presses.ts";
import { LINK, MINUTE_MS as MINUTE, PR } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const MUTE = "Don't mention me in this thread";

function start(options: WorldOptions = {}): Promise<World> {
  const jobService = { ...OFFERS_EVERYTHING, ...options.jobService };
  return World.start({ startMs: MONDAY, ...options, jobService });
}

/** Ana's command, once its job runs: its status message, and the job's id. */
async function asked(world: World): Promise<{ root: SlackMessage; jobId: string }> {
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => world.read(DOCS).length === 1 && service.creates.length === 1);
  const [root] = slack.messages(DOCS);
  if (root === undefined) throw new Error("no root message");
  return { root, jobId: service.creates[0]?.jobId ?? "" };
}

function menuValue({ blocks = [] }: SlackMessage, label: string): string {
  const [menu] = blocks
    .flatMap((block) => (block.type === "actions" ? block.elements : []))
    .filter(({ action_id }) => action_id === "follow_menu");
  const options = menu?.type === "overflow" ? menu.options : [];
  return options.find(({ text }) => text.text === label)?.value ?? "";
}

describe("after the link, the thread", () => {
  it("is told what happens to the pull request, once each, and the root shows how it stands", async () => {
    await using world = await start();
    const jobId = await linked(world);
    expect(stateOf(world)).toBe(`👀 Waiting for review: ${LINK}`);
    expect(told(world)).toEqual([]);

    await stands(world, jobId, { checks: { state: "unknown", failed: [] } });
    expect(stateOf(world)).toBe(`👀 Waiting for review, checks unknown: ${LINK}`);
    const failed: Followed = { checks: { state: "failed", failed: ["links", "build"] } };
    await stands(world, jobId, failed, failed);
    expect(stateOf(world)).toBe(`❌ Checks failed: ${LINK}`);
    const reviews = [review("1", "The FAQ, too.")];
    await stands(world, jobId, { review: "changes-requested", reviews });
    expect(stateOf(world)).toBe(`✏️ Changes requested: ${LINK}`);
    await stands(world, jobId, { review: "approved", reviews });
    expect(stateOf(world)).toBe(`✅ Approved: ${LINK}`);
    await stands(world, jobId, { state: "merged", reviews }, { reviews }, { state: "closed" });
    expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
    expect(told(world)).toEqual([
      `❌ @Ana "links" and "build" failed on ${LINK}.`,
      `✏️ @Ana maria asks for changes in ${LINK}:\nThe FAQ, too.`,
      `🎉 @Ana ${LINK} is merged.`,
    ]);
    const [root, ...replies] = world.slack.messages(DOCS);
    for (const { thread_ts } of replies) expect(thread_ts).toBe(root?.ts);
    // Nobody looks at it anymore.
    const gets = world.service.gets.length;
    await world.pass(DAY / 4);
    expect(world.service.gets).toHaveLength(gets);
  });

  it(
    "is told the link and what follows where a create was sent again and its turn had ended",
    { tags: "all" },
    async () => {
      await using world = await start({
        jobService: { idempotencyKeys: true },
        env: { DOCS_AGENT_IDEMPOTENCY_KEYS: "true" },
      });
      const { service } = world;
      // It ends before the answer is lost, and the answer to the same create is about its beginning.
      service.onCall((phase, { op }) => {
        if (op === "create" && phase === "after")
          service.finish("job_1", { status: "completed", prLink: PR });
      });
      service.faults.add({ op: "create", times: 1, fault: { kind: "drop-after" } });
      await world.slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
      await world.until(() => service.calls.filter(({ op }) => op === "create").length === 2);
      await world.until(() => world.read(DOCS).length === 2);
      expect(world.read(DOCS)[1]).toContain(LINK);
      service.onCall(null);
      await stands(world, "job_1", { state: "merged" });
      expect(told(world)).toEqual([`🎉 @Ana ${LINK} is merged.`]);
    },
  );

  it("gets reviews within a minute as one post", async () => {
    await using world = await start();
    const jobId = await linked(world);
    const reviews = [review("1", "First."), review("2", "Second.", "tom")];
    await stands(world, jobId, { review: "changes-requested", reviews });
    expect(told(world)).toEqual([
      `✏️ @Ana maria and tom ask for changes in ${LINK}:\nmaria\nFirst.\ntom\nSecond.`,
    ]);
  });

  it("is told how many more reviews there are than one post quotes", { tags: "all" }, async () => {
    await using world = await start();
    const jobId = await linked(world);
    const reviews = Array.from({ length: 7 }, (_, index) => review(String(index), `Word ${index}.`));
    await stands(world, jobId, { review: "changes-requested", reviews });
    const words = "Word 0.\nWord 1.\nWord 2.\nWord 3.\nWord 4.\n… and 2 more";
    expect(told(world)).toEqual([`✏️ @Ana maria asks for changes in ${LINK}:\n${words}`]);
  });

  it("is told once that nobody reviews for three working days, and that it is closed", async () => {
    await using world = await start();
    // Three days without the weekend end 40 minutes after the start.
    const openedAt = new Date(MONDAY - 5 * DAY + 40 * MINUTE).toISOString();
    const jobId = await linked(world, PR, { openedAt });
    await stands(world, jobId, { openedAt });
    expect(told(world)).toEqual([]);
    await world.pass(40 * MINUTE);
    expect(told(world)).toEqual([`⏰ ${LINK} has waited 3 working days for maria.`]);
    await world.pass(DAY / 4);
    await stands(world, jobId, { openedAt, state: "closed" }, { openedAt }, { openedAt, state: "closed" });
    expect(told(world).slice(1)).toEqual([`🚫 @Ana ${LINK} was closed without merging.`]);
    expect(stateOf(world)).toBe(`🚫 Closed: ${LINK}`);
  });

  it(
    "is told once that it can't be seen anymore, and of its end once it is seen again",
    { tags: "all" },
    async () => {
      await using world = await start();
      const jobId = await linked(world);
      await stands(world, jobId, { isVisible: false }, { isVisible: false });
      const unseen = `⚠️ I can't see ${LINK} anymore.`;
      expect(told(world)).toEqual([unseen]);
      await world.pass(DAY);
      expect(told(world)).toEqual([unseen]);
      await stands(world, jobId, { isVisible: true, state: "closed" });
      expect(told(world)).toEqual([unseen, `🚫 @Ana ${LINK} was closed without merging.`]);
    },
  );

  it("of a pull request that is merged before the first look gets its end after its link", async () => {
    await using world = await start();
    const { service } = world;
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
    await world.until(() => service.creates.length === 1 && world.read(DOCS).length === 1);
    const jobId = service.creates[0]?.jobId ?? "";
    service.finish(jobId, { status: "completed", prLink: PR });
    const old = { ...review("1", "Long ago."), at: new Date(MONDAY - DAY).toISOString() };
    service.follow(jobId, { state: "merged", reviews: [old] });
    await world.pass(30 * MINUTE);
    expect(world.read(DOCS).slice(1)).toEqual([
      expect.stringContaining("Your pull request is ready"),
      `🎉 @Ana ${LINK} is merged.`,
    ]);
  });

  it.each(["Stop, pressed as the agent finishes,", "the create's answer"])(
    "is told of a merge if %s shows the turn's end before a poll does",
    { tags: "all" },
    async (shows) => {
      await using world = await start({ jobService: { level: 1 } });
      const { service, slack } = world;
      const isCreate = shows === "the create's answer";
      if (isCreate) service.script.completeAfterPolls(0, { prLink: PR });
      await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
      const root = await world.until(() => slack.messages(DOCS)[0]);
      const jobId = await world.until(() => service.creates[0]?.jobId);
      if (!isCreate) {
        service.finish(jobId, { status: "completed", prLink: PR });
        await press(world, ANA, root, "stop_turn");
      }
      await world.until(() => world.read(DOCS).length === 2);
      await stands(world, jobId, {}, { state: "merged" });
      expect(told(world)).toEqual([`🎉 @Ana ${LINK} is merged.`]);
    },
  );

  it("mentions followers, and nobody who muted it", async () => {
    await using world = await start();
    const { service } = world;
    const { root, jobId } = await asked(world);
    await press(world, BEN, root, "follow_menu", menuValue(root, "Mention me in the result"));
    await press(world, ANA, root, "follow_menu", menuValue(root, MUTE));
    service.finish(jobId, { status: "completed", prLink: PR });
    service.follow(jobId);
    await world.pass(12 * MINUTE);
    await stands(world, jobId, { state: "merged" });
    expect(told(world)).toEqual([`🎉 @Ben ${LINK} is merged.`]);
  });

  it(
    "mentions nobody who muted it in a menu from before the link, however long a request is kept",
    { tags: "all" },
    async () => {
      await using world = await start({ env: { RETENTION_DAYS: "1" } });
      const { service } = world;
      const { root, jobId } = await asked(world);
      const onceMore = await press(world, ANA, root, "follow_menu", menuValue(root, MUTE));
      service.finish(jobId, { status: "completed", prLink: PR });
      await stands(world, jobId, {});
      await onceMore();
      await world.pass(3 * DAY);
      await stands(world, jobId, { state: "merged" });
      expect(told(world).at(-1)).toBe(`🎉 ${LINK} is merged.`);
    },
  );

  it("mentions nobody who muted it, also once it is told in a direct message", { tags: "all" }, async () => {
    await using world = await start();
    const { slack, service } = world;
    const { root, jobId } = await asked(world);
    await press(world, ANA, root, "follow_menu", menuValue(root, MUTE));
    service.finish(jobId, { status: "completed", prLink: PR });
    service.follow(jobId);
    await world.pass(12 * MINUTE);
    slack.workspace.archiveChannel(DOCS);
    await stands(world, jobId, { state: "merged" });
    const { id: channel } = slack.workspace.openDirectMessage([ANA]);
    expect(world.read(channel)).toEqual([`#docs is archived, so I'm replying here.\n🎉 ${LINK} is merged.`]);
  });

  it(
    "is told, and shows it, although a finished request is kept for a shorter time",
    { tags: "all" },
    async () => {
      await using world = await start({ env: { RETENTION_DAYS: "1" } });
      const { slack, service } = world;
      const { root, jobId } = await asked(world);
      await press(world, ANA, root, "follow_menu", menuValue(root, MUTE));
      service.finish(jobId, { status: "completed", prLink: PR });
      service.follow(jobId);
      await world.pass(DAY / 2);
      // A follow-up ends, and with it what is kept of the job and the thread is set anew.
      await slack.person(BEN).mention({ channel: DOCS, text: "and the FAQ", threadTs: root.ts });
      await world.until(() => service.messages.length === 1);
      service.finish(jobId, { status: "completed" });
      await world.pass(1.2 * DAY);
      await stands(world, jobId, { state: "merged" });
      expect(told(world).at(-1)).toBe(`🎉 ${LINK} is merged.`);
      expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
    },
  );

  it("goes on showing it at the root when a follow-up updates it, and follows the next pull request", async () => {
    await using world = await start();
    const { slack, service } = world;
    const jobId = await linked(world);
    await stands(world, jobId, { review: "changes-requested", reviews: [review("1", "The FAQ.")] });
    const root = slack.messages(DOCS)[0];
    await slack.person(ANA).mention({ channel: DOCS, text: "and the FAQ", threadTs: root?.ts ?? "" });
    await world.until(() => service.messages.length === 1);
    await world.pass(MINUTE);
    service.finish(jobId, { status: "completed" });
    await world.pass(MINUTE);
    expect(stateOf(world)).toBe(`✏️ Changes requested: ${LINK}`);
    await stands(world, jobId, { state: "merged" });
    expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);

    await slack.person(ANA).mention({ channel: DOCS, text: "and the rest", threadTs: root?.ts ?? "" });
    await world.until(() => service.messages.length === 2);
    await world.pass(MINUTE);
    const next = "https://github.com/acme/docs/pull/8";
    // Until it knows the next one, a service may still tell of the one before.
    service.finish(jobId, { status: "completed", prLink: next });
    await world.pass(20 * MINUTE);
    await stands(world, jobId, { url: next, state: "closed" });
    expect(told(world).at(-1)).toBe(`🚫 @Ana acme/docs#8 (${next}) was closed without merging.`);
    expect(told(world).filter((text) => text.includes("merged."))).toHaveLength(1);
    expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
  });

  it("isn't told again of many failed checks when fewer fail", { tags: "all" }, async () => {
    await using world = await start();
    const jobId = await linked(world);
    const failed = Array.from({ length: 25 }, (_, n) => `build (${String.fromCharCode(97 + n)})`);
    const checks = (from: number, count: number) =>
      ({ checks: { state: "failed", failed: failed.slice(from, from + count) } }) as const;
    await stands(world, jobId, checks(0, 20), checks(1, 20), checks(2, 20), checks(10, 15), checks(13, 12));
    expect(told(world)).toHaveLength(1);
  });

  it(
    "of what a reviewer asked for before a push waits for the reviewer, however late both are heard of",
    { tags: "all" },
    async () => {
      await using world = await start();
      const jobId = await linked(world, PR, { headSha: "a" });
      const reviews = [{ ...review("1", "The FAQ, too."), headSha: "a" }];
      await stands(world, jobId, { headSha: "b", review: "changes-requested", reviews });
      expect(stateOf(world)).toContain("Waiting for review");
      await stands(world, jobId, { headSha: "a" }, { headSha: "b", review: "changes-requested", reviews });
      expect(stateOf(world)).toContain("Waiting for review");
      expect(told(world)).toHaveLength(1);
    },
  );

  it("of two reviews without ids that begin alike is told both", { tags: "all" }, async () => {
    await using world = await start();
    const jobId = await linked(world);
    const words = "Thanks for the change. Before I can approve it, please address this point, which matters:";
    const reviews = ["the FAQ", "the index"].map((what, n) => {
      const { id: _, ...rest } = review("", `${words} ${what}`);
      return { ...rest, at: new Date(MONDAY + DAY + n * 60 * MINUTE).toISOString() } as never;
    });
    await stands(world, jobId, { review: "changes-requested", reviews: reviews.slice(0, 1) });
    await stands(world, jobId, { review: "changes-requested", reviews });
    expect(told(world)).toHaveLength(2);
  });

  it("names people and checks whose names don't show", { tags: "all" }, async () => {
    await using world = await start();
    const jobId = await linked(world);
    await stands(
      world,
      jobId,
      {
        review: "changes-requested",
        reviews: [review("1", "No.", "\u202e"), review("2", "Neither.", "tom")],
      },
      { checks: { state: "failed", failed: ["\u200b"] } },
    );
    expect(told(world)[0]).toContain("someone and tom ask for changes");
    expect(told(world)[1]).toContain('"unnamed" failed');
    expect(world.logger.text("error")).toBe("");
  });

  it("goes on showing it after Slack refused one update", { tags: "all" }, async () => {
    await using world = await start();
    const jobId = await linked(world);
    world.slack.faults.add({
      method: "chat.update",
      times: 1,
      fault: { kind: "error", error: "is_archived" },
    });
    await stands(world, jobId, { review: "approved" }, { state: "merged" });
    expect(stateOf(world)).toContain("Merged");
  });

  it.each([
    ["closed", { state: "closed" }],
    ["no longer seen", { isVisible: false }],
  ] as const)(
    "is told of a merge after it was %s, although no feed told so",
    { tags: "all" },
    async (_, before) => {
      await using world = await start({ jobService: { changes: "at-once" } });
      const jobId = await linked(world);
      await stands(world, jobId, before);
      world.service.follow(jobId, { state: "merged" });
      world.service.feed?.forget();
      await world.pass(60 * MINUTE);
      expect(told(world).at(-1)).toContain("is merged");
      expect(stateOf(world)).toContain("Merged");
    },
  );

  it(
    "is told of a merge although what came before it couldn't be told for a day",
    { tags: "nightly" },
    async () => {
      await using world = await start();
      const jobId = await linked(world);
      const fault = { kind: "error", error: "internal_error" } as const;
      const off = world.slack.faults.add({ method: "chat.postMessage", times: 1e9, fault });
      await stands(world, jobId, { checks: { state: "failed", failed: ["links"] } });
      await world.pass(DAY - 20 * MINUTE);
      await stands(world, jobId, { state: "merged" });
      await world.pass(4 * 60 * MINUTE);
      off();
      await world.pass(DAY);
      expect(told(world).join()).toContain("is merged");
    },
  );

  it(
    "is told of reviews also if this machine's clock was ahead as the link came",
    { tags: "all" },
    async () => {
      await using world = await start({ startMs: MONDAY + 2 * DAY });
      const before = { ...review("1", "Long ago."), at: new Date(MONDAY - DAY).toISOString() };
      const jobId = await linked(world, PR, { review: "changes-requested", reviews: [before] });
      await stands(world, jobId, {
        review: "changes-requested",
        reviews: [before, review("2", "The FAQ, too.")],
      });
      expect(told(world).join()).toContain("The FAQ, too.");
      expect(told(world).join()).not.toContain("Long ago.");
    },
  );

  it("that is in a direct message is told there", { tags: "all" }, async () => {
    await using world = await start();
    const { slack, service } = world;
    const { id: channel } = slack.workspace.openDirectMessage([ANA]);
    await slack.person(ANA).say({ channel, text: "fix the install page" });
    await world.until(() => service.creates.length === 1);
    await world.pass(MINUTE);
    const jobId = service.creates[0]?.jobId ?? "";
    service.finish(jobId, { status: "completed", prLink: PR });
    service.follow(jobId, { state: "merged" });
    await world.pass(30 * MINUTE);
    expect(world.read(channel).at(-1)).toBe(`🎉 @Ana ${LINK} is merged.`);
  });

  it("in a channel that is archived since is told in a direct message", async () => {
    await using world = await start();
    const jobId = await linked(world);
    world.slack.workspace.archiveChannel(DOCS);
    await stands(
      world,
      jobId,
      { review: "changes-requested", reviews: [review("1", "No.")] },
      { state: "closed" },
    );
    const { id: channel } = world.slack.workspace.openDirectMessage([ANA]);
    expect(world.read(channel)).toEqual([
      `#docs is archived, so I'm replying here.\n✏️ @Ana maria asks for changes in ${LINK}:\nNo.`,
      `🚫 @Ana ${LINK} was closed without merging.`,
    ]);
  });

  it("shows hostile words and names as text, cut, and nobody is mentioned by them", async () => {
    await using world = await start();
    const jobId = await linked(world);
    const huge = "<!channel> <@U0BEN> @here <https://evil.example|click> `x` *b* \u202Eevil ".repeat(1_000);
    await stands(
      world,
      jobId,
      {
        checks: {
          state: "failed",
          failed: Array.from({ length: 20 }, (_, n) => `${n} ${huge.slice(0, 10_000)}`),
          reasons: [{ name: huge, words: huge, url: "https://ana@evil.example/1" }],
        },
      },
      {
        review: "changes-requested",
        reviews: [
          { ...review("1", huge, huge), comments: Array(5).fill({ path: huge, line: 1, words: huge }) },
        ],
      },
    );
    const posts = world.slack.messages(DOCS).slice(2);
    expect(posts).toHaveLength(2);
    for (const post of posts) {
      expect(post.mentions).toEqual([`@${ANA}`]);
      const text = world.slack.visibleText(post);
      expect(text).toContain("<!channel> <@U0BEN> @here");
      expect(text).not.toContain("\u202E");
      expect(text.length).toBeLessThan(3_000);
    }
  });
});

it("a service that knows only the contract is polled as before, and nothing of this shows", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: {} });
  const { service, slack } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => service.creates.length === 1 && world.read(DOCS).length === 1);
  const jobId = service.creates[0]?.jobId ?? "";
  service.finish(jobId, { status: "completed", prLink: PR });
  service.follow(jobId, { state: "merged" });
  await world.until(() => world.read(DOCS).length === 2);
  const calls = service.calls.length;
  await world.pass(5 * DAY);
  expect(service.calls).toHaveLength(calls);
  expect(world.read(DOCS)).toHaveLength(2);
  expect(stateOf(world)).toBe(`✅ ${LINK}`);
});
