import { expect, it, vi } from "vitest";
import type { SlackMessage, SlackSide } from "../../emulators/slack/index.ts";
import { AppProcess } from "../support/app-process.ts";
import { type JobServiceSide, startJobServiceSide } from "../support/job-service-side.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

/** Past a lease (30 s), and past the look for those that are over (every 10 s). */
const PAUSE_MS = 45_000;

function outcomesIn(slack: SlackSide): SlackMessage[] {
  return slack
    .messages(DOCS)
    .filter((message) => message.thread_ts !== undefined && slack.visibleText(message).includes(PR));
}

/** So many requests: one job, one status message and one outcome for each. */
function expectOnce(slack: SlackSide, service: JobServiceSide, count: number): void {
  const prompts = service.creates.map(({ prompt }) => prompt);
  expect(new Set(prompts).size).toBe(count);
  expect(prompts).toHaveLength(count);
  const outcomes = outcomesIn(slack);
  expect(new Set(outcomes.map(({ thread_ts: ts }) => ts)).size).toBe(count);
  expect(outcomes).toHaveLength(count);
  const roots = slack.messages(DOCS).filter((message) => message.thread_ts === undefined);
  expect(roots).toHaveLength(count);
}

async function isReady(url: string): Promise<void> {
  await vi.waitFor(
    async () => expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: "ok" }),
    {
      timeout: 20_000,
      interval: 100,
    },
  );
}

async function startSides(redisSettings: Record<string, string> = {}) {
  const resources = new AsyncDisposableStack();
  const redis = resources.use(await startRedisServer(redisSettings));
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide({ idempotencyKeys: true }));
  const env = {
    ...environment(slack, service),
    STORE_URL: redis.url,
    POLL_MIN_MS: "200",
    POLL_MAX_MS: "500",
    DOCS_AGENT_IDEMPOTENCY_KEYS: "true",
  };
  const open = (overrides: Record<string, string> = {}) =>
    resources.use(new AppProcess({ env: { ...env, ...overrides } }));
  return { resources, redis, slack, service, open };
}

it("a Redis that is away: a command is told that it was not stored, and work goes on once Redis is back", async () => {
  const { resources, redis, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const app = open();
  const url = (await app.ready()) ?? "";
  slack.setAppUrl(`${url}/slack/events`);

  // It holds its connections, and says nothing.
  process.kill(redis.pid, "SIGSTOP");
  expect((await slack.person(ANA).command({ channel: DOCS, text: "fix it" })).status).toBe(200);
  await slack.until(() => slack.ephemerals(ANA).length > 0, 10_000);
  const [told] = slack.ephemerals(ANA);
  expect(told === undefined ? "" : slack.visibleText(told)).toContain("I could not store your request");
  const mention = await slack.person(ANA).mention({ channel: DOCS, text: "fix that" });
  expect(mention.status).toBe(500);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  process.kill(redis.pid, "SIGCONT");
  await isReady(url);
  if (mention.delivery === undefined) throw new Error("the app is not in the channel");
  expect((await slack.redeliver(mention.delivery, { retryNum: 1, resign: true })).status).toBe(200);
  await slack.until(
    () => slack.messages(DOCS).some((message) => slack.visibleText(message).includes(PR)),
    60_000,
  );
  expect(app.hasExited).toBe(false);
}, 120_000);

it.concurrent("two replicas share the work, and when one is killed the other one ends all of it, each request once", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const replicas = [open(), open()];
  const urls = await Promise.all(replicas.map((replica) => replica.ready()));
  for (let n = 0; n < 12; n += 1) {
    // The first one dies in the middle of its work.
    if (n === 8) await replicas[0]?.kill();
    slack.setAppUrl(`${urls[n < 8 ? n % 2 : 1] ?? ""}/slack/events`);
    const sent = await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
    expect(sent.status).toBe(200);
  }
  await slack.until(() => outcomesIn(slack).length >= 12, 150_000);
  expectOnce(slack, service, 12);
  expect(replicas[1]?.hasExited).toBe(false);
}, 180_000);

it.concurrent("a replica that is paused past its lease comes back and does nothing twice", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const paused = open();
  const url = (await paused.ready()) ?? "";
  await open().ready();
  slack.setAppUrl(`${url}/slack/events`);
  const resumed = Promise.withResolvers<void>();
  let posts = 0;
  slack.onCall(async (phase, { method }) => {
    if (method !== "chat.postMessage" || phase !== "after") return;
    posts += 1;
    // In the middle of a post, with other work under way.
    if (posts !== 2) return;
    paused.signal("SIGSTOP");
    setTimeout(() => {
      paused.signal("SIGCONT");
      resumed.resolve();
    }, PAUSE_MS);
  });
  for (let n = 0; n < 5; n += 1) await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
  await slack.until(() => outcomesIn(slack).length >= 5, 120_000);
  await resumed.promise;
  // What it still had to say counts for nothing: another poll of each job would have come by now.
  await slack.person(ANA).command({ channel: DOCS, text: "fix one more" });
  await slack.until(() => outcomesIn(slack).length >= 6, 60_000);
  expectOnce(slack, service, 6);
  expect(paused.hasExited).toBe(false);
}, 200_000);

it.concurrent("a replica that is stopped hands over what it runs: the other one goes on before the lease is over", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const first = open({ JOB_SERVICE_TIMEOUT_MS: "60000" });
  slack.setAppUrl(`${(await first.ready()) ?? ""}/slack/events`);
  const reached = Promise.withResolvers<void>();
  service.onCall((phase, { op }) => {
    if (op === "create" && phase === "after") reached.resolve();
  });
  service.faults.add({ op: "create", times: 1, fault: { kind: "hang-after" } });
  await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await reached.promise;
  await open().ready();
  first.signal("SIGTERM");
  const outcome = () => slack.messages(DOCS).some((message) => slack.visibleText(message).includes(PR));
  // The grace of a stop is 5 s, a lease 30 s.
  await slack.until(outcome, 25_000);
  expect(service.creates).toHaveLength(1);
}, 90_000);

it.concurrent("says in /readyz what a crash of Redis may cost, and logs no password", async () => {
  const { resources, redis, open } = await startSides({ requirepass: "s3cret-of-redis" });
  await using _ = resources;
  const app = open({ STORE_URL: redis.url.replace("//", "//:s3cret-of-redis@") });
  const url = (await app.ready()) ?? "";
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
    status: "ok",
    risk: expect.stringContaining("a crash of Redis may lose everything since its last snapshot"),
  });
  expect(app.stdout).toContain("a crash of Redis may lose");
  expect(app.stdout + app.stderr).not.toContain("s3cret");
}, 60_000);

it.concurrent("does not start when Redis isn't there, and says what to do", async () => {
  const { resources, open } = await startSides();
  await using _ = resources;
  const app = open({ STORE_URL: "redis://127.0.0.1:1" });
  expect(await app.exit()).toBe(1);
  expect(app.stderr).toContain("Check that Redis runs and that STORE_URL is right");
}, 60_000);
