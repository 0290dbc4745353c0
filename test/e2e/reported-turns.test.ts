import { describe, expect, it } from "vitest";
import type { JobTurn } from "../../src/shared/contract/turn.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { SideOutcome } from "../../world/job-service/jobs.ts";
import { INTERNAL_APP } from "../../world/slack/limits.ts";
import { withoutStop } from "../support/status-buttons.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WORKING = "🔧 The agent is working. I'll reply here when it's done.";
const pullRequest: NonNullable<Sent<typeof JobTurn>["pullRequest"]> = {
  url: PR,
  number: 7,
  title: "Correct the install command",
  state: "open",
  files: 3,
  additions: 12,
  deletions: 4,
  headRef: "docs-agent/job_1",
  headSha: "0123456789abcdef0123456789abcdef01234567",
};

/** What stands under a request in its status message. */
function stateOf(world: World, n = 0): string {
  const roots = world.slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
  const root = roots[n];
  return root === undefined ? "" : (withoutStop(world.slack.visibleText(root)).split("\n").at(-1) ?? "");
}

function updates({ slack }: World): number {
  return slack.calls.filter(({ method }) => method === "chat.update").length;
}

/** Ana asks, and sees that it runs. */
async function ask(world: World, text = "fix the install page"): Promise<string> {
  const before = world.service.creates.length;
  await world.slack.person(ANA).command({ channel: DOCS, text });
  await world.until(() => world.service.creates.length > before && stateOf(world, before) !== "");
  return world.service.creates.at(-1)?.jobId ?? "";
}

/** The reply with the outcome, line by line. */
async function outcome(world: World, jobId: string, end: SideOutcome): Promise<string[]> {
  world.service.finish(jobId, end);
  await world.until(() => world.slack.messages(DOCS).length === 2);
  await world.pass(60 * MINUTE_MS);
  expect(world.slack.messages(DOCS)).toHaveLength(2);
  return world.read(DOCS)[1]?.split("\n") ?? [];
}

describe("a job service that tells of its turns", () => {
  it("is followed step by step, and its words and the pull request's arrive with the outcome", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const jobId = await ask(world);
    await world.pass(30_000);
    // It waits for its turn there: nobody works yet.
    expect(stateOf(world)).toBe("⏳ Starting…");
    expect(updates(world)).toBe(0);

    service.tell(jobId, {});
    await world.until(() => stateOf(world) === WORKING);
    service.tell(jobId, { step: "Read docs/install.md" });
    await world.until(() => stateOf(world) === "🔧 Read docs/install.md");
    service.tell(jobId, { step: "Edit <!channel>\ndocs/\u202Einstall.md" });
    await world.until(() => stateOf(world) === "🔧 Edit <!channel> docs/ install.md");
    expect(world.slack.messages(DOCS)[0]?.mentions).toEqual([`@${ANA}`]);
    const before = updates(world);
    await world.pass(5 * MINUTE_MS);
    // A step that stays costs nothing.
    expect(updates(world)).toBe(before);

    const summary = "Correct the install command\n\nBoth pages named one that was removed.";
    const lines = await outcome(world, jobId, {
      status: "completed",
      prLink: PR,
      turn: { summary, pullRequest },
    });
    expect(lines).toEqual([
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "Both pages named one that was removed.",
      "3 files, +12 −4",
      "[View pull request] [Show changes]",
    ]);
    expect(stateOf(world)).toBe(`✅ acme/docs#7 (${PR}), 3 files, +12 −4`);
  });

  it("says until when the service holds a turn back, and watches it as long as that takes", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const jobId = await ask(world);
    const until = Math.ceil(world.clock.now() / DAY_MS + 9) * DAY_MS;
    const reason = "Today's budget\nof $20.00 is used up.";
    service.tell(jobId, { status: "waiting", held: { reason, until: new Date(until).toISOString() } });
    const day = new Date(until).toISOString().slice(0, 10);
    const saved = `Your request is saved and starts after ${day} 00:00 UTC.`;
    await world.until(() => stateOf(world) === `⏳ Today's budget of $20.00 is used up. ${saved}`);
    const before = updates(world);
    await world.passWithoutApp(until - world.clock.now() - 60 * MINUTE_MS);
    await world.pass(59 * MINUTE_MS);
    expect(updates(world)).toBe(before);

    service.tell(jobId, { step: "Read docs/install.md", held: undefined });
    await world.until(() => stateOf(world) === "🔧 Read docs/install.md");
    // Only from now on its time runs.
    await world.passWithoutApp(DAY_MS - 60 * MINUTE_MS);
    const lines = await outcome(world, jobId, { status: "completed", prLink: PR, turn: { pullRequest } });
    expect(lines[0]).toBe("✅ @Ana Your pull request is ready:");
  });

  it("shows the agent's plan, and how far it is", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const jobId = await ask(world);
    const step = "Edit docs/install.md";
    const plan = (...done: ("pending" | "in-progress" | "completed")[]) =>
      done.map((status, n) => ({ text: `Page <!here> ${n + 1}`, status }));
    service.tell(jobId, { step, plan: plan("in-progress", "pending") });
    const shown = () => world.read(DOCS)[0]?.split("\n").slice(2, 5);
    await world.until(() => shown()?.[1] === "🔧 Page <!here> 1");
    expect(shown()).toEqual([step, "🔧 Page <!here> 1", "⏳ Page <!here> 2"]);
    service.tell(jobId, { step, plan: plan("completed", "in-progress") });
    await world.until(() => shown()?.[1] === "✅ Page <!here> 1");
    expect(shown()).toEqual([step, "✅ Page <!here> 1", "🔧 Page <!here> 2"]);
    expect(world.slack.messages(DOCS)[0]?.mentions).toEqual([`@${ANA}`]);
    // Of a long plan, what is at work and comes next.
    const many = Array.from({ length: 20 }, (_, n) => (n < 12 ? "completed" : "pending"));
    service.tell(jobId, { step, plan: plan(...many) });
    await world.until(() => world.read(DOCS)[0]?.includes("Page <!here> 13") === true);
    const tasks = world
      .read(DOCS)[0]
      ?.split("\n")
      .filter((line) => line.includes("Page"));
    expect(tasks?.[0]).toBe("✅ Page <!here> 12");
    expect(tasks).toHaveLength(8);
  });

  const words: [string, SideOutcome, string[], string][] = [
    [
      "changed nothing, and why",
      {
        status: "completed",
        turn: { summary: "There is no page about refunds.", reason: "All changes were outside the docs." },
      },
      ["➖ @Ana No changes made.", "All changes were outside the docs.", "There is no page about refunds."],
      "➖ No changes",
    ],
    [
      "answered a question",
      {
        status: "completed",
        turn: { summary: "No, see docs/cli.md.", answer: "No, see `docs/cli.md`.\n\n<!channel> <@U0BEN>" },
      },
      ["💬 @Ana", "No, see docs/cli.md.", "", "<!channel> <@U0BEN>"],
      "💬 Answered",
    ],
    [
      "opened a draft, because a check failed",
      {
        status: "completed",
        prLink: PR,
        turn: {
          pullRequest: { ...pullRequest, isDraft: true },
          checks: [
            { name: "links", result: "failed", findings: ["docs/faq.md: no a.md", "docs/faq.md: no b.md"] },
            { name: "vale", result: "not-checked", findings: ["It isn't installed."] },
          ],
          claims: { total: 5, verified: 4 },
          notes: ["The label <docs> couldn't be set."],
        },
      },
      [
        "📝 @Ana The pull request is a draft: 2 new problems.",
        "Correct the install command",
        "links: 2 new problems, such as docs/faq.md: no a.md",
        "3 files, +12 −4 · Not checked: vale · Sources: 4 of 5 found",
        "The label <docs> couldn't be set.",
      ],
      `📝 acme/docs#7 (${PR}), draft, 3 files, +12 −4`,
    ],
    [
      "failed, and why",
      { status: "failed", turn: { reason: "The agent exited with code 1." } },
      [
        "❌ @Ana The agent couldn't finish.",
        "The agent exited with code 1.",
        "If it keeps happening, give your Docs Agent admin this ID: job_1",
      ],
      "❌ Couldn't finish",
    ],
    [
      "was canceled",
      { status: "failed", turn: { outcome: "cancelled" } },
      ["⏹️ @Ana The agent was stopped.", "No pull request was opened."],
      "⏹️ Stopped",
    ],
    [
      "left its changes on a branch",
      { status: "completed", turn: { outcome: "branch", branch: "docs-agent/job_1", summary: "Fixed it." } },
      [
        "✅ @Ana The changes are on branch:",
        "docs-agent/job_1",
        "Fixed it.",
        "Open a pull request from it to merge it.",
      ],
      "✅ Changes on branch docs-agent/job_1",
    ],
    [
      "was done when its job was archived",
      { status: "archived", prLink: PR, turn: { outcome: "pull-request", pullRequest } },
      ["✅ @Ana Your pull request is ready:", "Correct the install command"],
      `✅ acme/docs#7 (${PR}), 3 files, +12 −4`,
    ],
  ];

  it.each(words)("says that the agent %s", async (_, end, expected, state) => {
    await using world = await World.start({ jobService: { level: 1 } });
    const lines = await outcome(world, await ask(world), end);
    expect(lines.slice(0, expected.length)).toEqual(expected);
    expect(world.slack.messages(DOCS)[1]?.mentions).toEqual([`@${ANA}`]);
    expect(stateOf(world)).toBe(state);
  });

  it("is believed about our turn while its job goes on with somebody else's", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const jobId = await ask(world);
    service.finish(jobId, { status: "completed", prLink: PR, turn: { summary: "First.", pullRequest } });
    const answer = await fetch(`${service.baseUrl}/v2/agent/docs/job/${jobId}/message`, {
      method: "POST",
      headers: {
        authorization: "Bearer mint_test-key-0123456789",
        "content-type": "application/json",
      },
      body: JSON.stringify({ prompt: "and another thing" }),
    });
    expect(answer.status).toBe(200);
    service.tell(jobId, { summary: "Second.", step: "Somebody else's step" });
    await world.until(() => world.slack.messages(DOCS).length === 2);
    expect(world.read(DOCS)[1]).toContain("First.");
    expect(world.read(DOCS).join()).not.toMatch(/Second|Somebody else/);
  });
});

describe("a job service that does not announce that it tells of turns", () => {
  it("is followed as before: no more is said than it says", async () => {
    await using world = await World.start();
    const { service } = world;
    const jobId = await ask(world);
    await world.until(() => stateOf(world) === WORKING);
    service.tell(jobId, { step: "Read docs/install.md" });
    await world.pass(5 * MINUTE_MS);
    expect(stateOf(world)).toBe(WORKING);
    expect(updates(world)).toBe(1);
    const lines = await outcome(world, jobId, { status: "completed", prLink: PR, turn: { pullRequest } });
    expect(lines).toEqual([`✅ @Ana Your pull request is ready: acme/docs#7 (${PR})`, "[View pull request]"]);
    expect(service.calls.every(({ isAtLevel1 }) => !isAtLevel1)).toBe(true);
  });

  it("may have a field of that name: it is not ours to read", async () => {
    await using world = await World.start();
    const { service } = world;
    const jobId = await ask(world);
    await world.until(() => service.gets.length > 0);
    const [get] = service.gets;
    const turns = [{ number: 1, status: "ended", outcome: "failed", reason: "no", plan: [] }];
    service.faults.add({
      op: "get",
      times: 20,
      fault: { kind: "body", status: 200, body: JSON.stringify({ ...get?.record, turns }) },
    });
    await world.pass(5 * MINUTE_MS);
    expect(world.slack.messages(DOCS)).toHaveLength(1);
    expect(stateOf(world)).toBe(WORKING);
    expect(jobId).toBe(get?.jobId);
  });
});

describe("steps cost what is left over", () => {
  it(
    "no update more often than the polls bring one, and none that delays another",
    { tags: "nightly" },
    async () => {
      await using world = await World.start({ jobService: { level: 1 }, slackLimits: INTERNAL_APP });
      const { service } = world;
      const jobs: string[] = [];
      for (let n = 0; n < 20; n += 1) jobs.push(await ask(world, `fix page ${n}`));
      let step = 0;
      service.onCall((phase, { op, jobId }) => {
        if (phase !== "before" || op !== "get" || jobId === null) return;
        step += 1;
        if (service.jobs.get(jobId)?.status === "active") service.tell(jobId, { step: `Step ${step}` });
      });
      await world.until(() => jobs.every((_, n) => stateOf(world, n).startsWith("🔧")));
      const from = { gets: service.gets.length, updates: updates(world) };
      await world.pass(3 * MINUTE_MS);
      const polls = service.gets.length - from.gets;
      const shown = updates(world) - from.updates;
      expect(shown).toBeGreaterThan(60);
      expect(shown).toBeLessThan(polls);
      expect(world.slack.calls.filter(({ result }) => result === "ratelimited")).toEqual([]);
      // Among all those steps, what matters is not late.
      const endedAt = world.clock.now();
      service.finish(jobs[10] ?? "", { status: "completed", prLink: PR, turn: { pullRequest } });
      await world.until(() => world.replies(DOCS, rootTs(world, 10)).length > 0);
      const deliveredAt = world.clock.now();
      expect(deliveredAt - endedAt).toBeLessThanOrEqual(61_000);
      await world.until(() => stateOf(world, 10).startsWith("✅"));
      expect(world.clock.now() - deliveredAt).toBeLessThanOrEqual(1334);
    },
  );

  it("nothing once Slack no longer lets the message be updated", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service, slack } = world;
    const jobId = await ask(world);
    service.tell(jobId, { step: "One" });
    await world.until(() => stateOf(world) === "🔧 One");
    slack.faults.add({
      method: "chat.update",
      times: 1,
      fault: { kind: "error", error: "message_not_found" },
    });
    const before = updates(world);
    for (let n = 0; n < 10; n += 1) {
      service.tell(jobId, { step: `More ${n}` });
      await world.pass(MINUTE_MS);
    }
    expect(updates(world)).toBe(before + 1);
    service.finish(jobId, { status: "completed", prLink: PR, turn: { pullRequest } });
    await world.until(() => stateOf(world).startsWith("✅"));
  });
});

function rootTs(world: World, n: number): string {
  const roots = world.slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
  return roots[n]?.ts ?? "";
}
