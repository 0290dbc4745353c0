import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import type { SlackDelivery } from "../../world/slack/index.ts";
import { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import { liveTasks, openRedisClient } from "../support/redis.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { type RedisStep, startRedisSteps } from "../support/redis-steps.ts";
import { sampled } from "../support/sampled.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const DURABLE = { appendonly: "yes", appendfsync: "always" };

type Ending = {
  /** What the app wrote, where nothing was killed. */
  steps: readonly RedisStep[];
  isKilled: boolean;
  outcomes: string[];
  statusPosts: number;
  jobs: number;
  dead: number;
};

/**
 * One request. Redis is killed at one step, unless that is null, and started again at once. The app
 * goes on.
 */
async function runWithDeath(at: RedisStep | null): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const redis = resources.use(await startRedisServer(DURABLE));
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide({ idempotencyKeys: true }));
  service.script.completeAfterPolls(2, { prLink: PR });
  let admin = await openRedisClient(redis.url);
  resources.defer(() => admin.destroy());
  let isKilled = false;
  const way = resources.use(
    await startRedisSteps(redis.url, admin, async ({ phase, what, number }) => {
      if (at?.phase !== phase || at.what !== what || at.number !== number) return false;
      isKilled = true;
      admin.destroy();
      await redis.restart();
      admin = await openRedisClient(redis.url);
      return true;
    }),
  );
  const open = () =>
    resources.use(
      new AppProcess({
        env: {
          ...environment(slack, service),
          STORE_URL: way.url,
          DOCS_AGENT_IDEMPOTENCY_KEYS: "true",
          POLL_MIN_MS: "20",
          POLL_MAX_MS: "50",
        },
      }),
    );
  let app = open();
  let url = await app.ready();
  // Killed while the app starts: whoever supervises it starts it again.
  if (url === null) {
    app = open();
    url = await app.ready();
  }
  slack.setAppUrl(`${url}/slack/events`);
  // Slack sends a mention again that was not taken.
  const { delivery, status } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the quickstart" });
  let taken = status;
  for (let retryNum = 1; taken !== 200; retryNum += 1) {
    await sleep(200);
    ({ status: taken } = await slack.redeliver(delivery as SlackDelivery, { retryNum, resign: true }));
  }
  const posts = () =>
    slack
      .messages(DOCS)
      .flatMap((message) =>
        message.metadata === undefined
          ? []
          : [{ post: String(message.metadata.event_payload["post"]), text: slack.visibleText(message) }],
      );
  await slack.until(() => posts().some(({ post }) => post.startsWith("outcome")), 100_000);
  const counts = async () => [
    (await liveTasks(admin, "{docs-agent}")).length,
    await admin.zCard("{docs-agent}:dead"),
  ];
  // The client that asks is another one after Redis was killed.
  await vi.waitFor(async () => expect((await counts())[0]).toBe(0), { timeout: 60_000, interval: 20 });
  expect(app.hasExited).toBe(false);
  return {
    steps: way.steps,
    isKilled,
    outcomes: posts().flatMap(({ post, text }) => (post.startsWith("outcome") ? [text] : [])),
    statusPosts: posts().filter(({ post }) => post === "status").length,
    jobs: service.creates.length,
    dead: (await counts())[1] ?? 0,
  };
}

const { steps } = await runWithDeath(null);

it("passes through every kind of step", () => {
  const kinds = steps.flatMap(({ what }) =>
    what.startsWith("WORK: ") ? what.slice("WORK: ".length).split(", ") : [what],
  );
  expect([...new Set(kinds)].toSorted()).toEqual(["claim", "commit", "slot"]);
});

let missed = 0;

it.concurrent.each(sampled(steps).map((step) => ({ ...step })))(
  "Redis killed $phase $what ($number): one outcome",
  { timeout: 150_000 },
  async (step) => {
    const { isKilled, outcomes, statusPosts, jobs, dead } = await runWithDeath(step);
    if (!isKilled) missed += 1;
    expect({ outcomes: outcomes.length, statusPosts, jobs, dead }).toEqual({
      outcomes: 1,
      statusPosts: 1,
      jobs: 1,
      dead: 0,
    });
    expect(outcomes[0]).toContain("Your pull request is ready");
  },
);

it("comes to most of these steps again", () => {
  // How often what is repeated comes (a poll, a look for work) depends on how busy the machine is.
  expect(missed).toBeLessThanOrEqual(Math.ceil(sampled(steps).length / 2));
});
