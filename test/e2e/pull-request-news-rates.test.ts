// @module-tag nightly
import { expect, it } from "vitest";
import { INTERNAL_APP } from "../../world/slack/limits.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const MINUTE = 60_000;

function linkOf(n: number): string {
  return `https://github.com/acme/docs/pull/${n + 1}`;
}

it.each([
  [40, 6],
  [200, 20],
])(
  "%i pull requests merged in one minute are all told, and outcomes don't wait for that: %i",
  { timeout: 600_000 },
  async (many, others) => {
    await using world = await World.start({
      jobService: { level: 1 },
      env: {
        POLL_MIN_MS: "1000",
        POLL_MAX_MS: "1000",
        REQUESTS_PER_PERSON: "0",
        REQUESTS_PER_CHANNEL: "0",
      },
      slackLimits: INTERNAL_APP,
    });
    const { service, slack, clock } = world;
    for (let n = 0; n < many + others; n += 1) {
      await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
    }
    await world.until(() => service.creates.length === many + others);
    await world.pass(6 * MINUTE);
    const jobs = service.creates.map(({ jobId }) => jobId);
    const finish = (n: number) => {
      service.finish(jobs[n] ?? "", { status: "completed", prLink: linkOf(n) });
      service.follow(jobs[n] ?? "");
    };
    for (let n = 0; n < many; n += 1) finish(n);
    const outcomes = () => world.read(DOCS).filter((text) => text.includes("Your pull request is ready"));
    await world.until(() => outcomes().length === many, 20 * MINUTE);
    const from = slack.calls.length;

    // When the app heard how each job ended.
    const heardAt = new Map<string, number>();
    service.onCall((phase, { op, jobId }) => {
      const isEnded = service.jobs.get(jobId ?? "")?.status === "completed";
      if (phase === "after" && op === "get" && isEnded && !heardAt.has(jobId ?? "")) {
        heardAt.set(jobId ?? "", clock.now());
      }
    });
    for (let n = 0; n < many; n += 1) service.follow(jobs[n] ?? "", { state: "merged" });
    const merged = () => world.read(DOCS).filter((text) => text.includes("is merged."));
    await world.until(() => merged().length > 3, 20 * MINUTE);
    for (let n = many; n < many + others; n += 1) {
      finish(n);
      await world.pass(7_300);
    }
    expect(merged().length).toBeLessThan(many);
    await world.until(() => merged().length === many, 20 * MINUTE);
    await world.pass(5 * MINUTE);
    expect(new Set(merged()).size).toBe(many);
    expect(merged()).toHaveLength(many);

    const waits = jobs.slice(many).map((jobId, n) => {
      const post = slack
        .messages(DOCS)
        .find((message) => slack.visibleText(message).includes(`ready: acme/docs#${many + n + 1} `));
      return Number(post?.ts ?? Infinity) * 1000 - (heardAt.get(jobId) ?? 0);
    });
    expect(waits.filter((ms) => ms > 2_000)).toEqual([]);
    // Slack never had to say that it was too much.
    expect(slack.calls.slice(from).filter(({ result }) => result !== "ok")).toEqual([]);
  },
);
