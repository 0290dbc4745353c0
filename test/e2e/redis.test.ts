import { expect, it, vi } from "vitest";
import { readiness } from "../support/app-process.ts";
import { evictSomething, openRedisClient } from "../support/redis.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { PR, expectOnce, isReady, outcomesIn, startSides } from "../support/replicas.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS } from "../support/world.ts";

it("a Redis that is away: a command is told that it was not stored, and work goes on once Redis is back", async () => {
  const { resources, redis, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const app = open();
  const url = (await app.ready()) ?? "";
  slack.setAppUrl(`${url}/slack/events`);

  // It holds its connections, and says nothing.
  process.kill(redis.pid, "SIGSTOP");
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: 10_000 }).toBe(503);
  expect((await slack.person(ANA).command({ channel: DOCS, text: "fix it" })).status).toBe(200);
  await slack.until(() => slack.ephemerals(ANA).length > 0, 10_000);
  const [told] = slack.ephemerals(ANA);
  expect(told === undefined ? "" : slack.visibleText(told)).toContain("I couldn't save that");
  const mention = await slack.person(ANA).mention({ channel: DOCS, text: "fix that" });
  expect(mention.status).toBe(500);
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

it(
  "a Redis that may evict keys makes the app unready, and one that has is told of; a newer version's data end the app",
  { tags: "all", timeout: 60_000 },
  async () => {
    const { resources, redis, open } = await startSides();
    await using _ = resources;
    const admin = await openRedisClient(redis.url);
    resources.defer(() => admin.destroy());
    const app = open();
    const url = (await app.ready()) ?? "";
    const probe = async () => {
      const response = await fetch(`${url}/readyz`);
      return { code: response.status, ...(await readiness(url)) };
    };
    const store = (text: string) => ({ store: expect.stringContaining(text) });
    await admin.configSet("maxmemory-policy", "allkeys-lru");
    await expect.poll(probe, { timeout: 10_000 }).toMatchObject({
      code: 503,
      status: "unavailable",
      checks: store("Set maxmemory-policy to noeviction"),
    });
    await evictSomething(admin);
    await expect
      .poll(probe, { timeout: 10_000 })
      .toMatchObject({ code: 200, status: "degraded", checks: store("Redis has removed") });
    await admin.sendCommand(["CONFIG", "RESETSTAT"]);
    await expect.poll(probe, { timeout: 10_000 }).toMatchObject({ code: 200, status: "ok" });

    const [key = ""] = await admin.keys("*:schema");
    await admin.set(key, "99");
    await admin.sendCommand(["CLIENT", "KILL", "SKIPME", "yes"]);
    expect(await app.exit()).toBe(1);
    expect(app.stdout).toContain("A newer version wrote it.");
  },
);

it(
  "a Redis whose answer is lost: the person is told that the request may have been stored, and it is done once",
  { tags: "all", timeout: 120_000 },
  async () => {
    const { resources, redis, slack, service, open } = await startSides();
    await using _ = resources;
    service.script.completeAfterPolls(0, { prLink: PR });
    const app = open();
    const url = (await app.ready()) ?? "";
    slack.setAppUrl(`${url}/slack/events`);
    // What is asked behind a call that is under way isn't sent at all, which the person is told.
    const answers: string[] = [];
    for (let n = 0; n === 0 || answers.at(-1)?.includes("I couldn't save that") === true; n += 1) {
      await isReady(url);
      process.kill(redis.pid, "SIGSTOP");
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await slack.until(() => slack.ephemerals(ANA).length > n, 10_000);
      process.kill(redis.pid, "SIGCONT");
      answers.push(
        ...slack
          .ephemerals(ANA)
          .slice(n)
          .map((told) => slack.visibleText(told)),
      );
    }
    const isSaved = await slack
      .until(() => outcomesIn(slack).length > 0, 20_000)
      .then(
        () => true,
        () => false,
      );
    // The connection was reset before Redis read it. They ask again, as they were told.
    if (!isSaved) await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await slack.until(() => outcomesIn(slack).length > 0, 60_000);
    expect(answers.at(-1)).toContain("I can't tell whether that was saved");
    expectOnce(slack, service, 1);
  },
);

it("a Redis that is killed and started again has everything, and work goes on by itself", async () => {
  await using dir = await openTempDir();
  const durable = { dir: dir.path, appendonly: "yes", appendfsync: "always" };
  const { resources, redis, slack, service, open } = await startSides(durable);
  await using _ = resources;
  service.script.completeAfterPolls(3, { prLink: PR });
  const replicas = [open(), open()];
  const urls = await Promise.all(replicas.map(async (replica) => (await replica.ready()) ?? ""));
  const command = (n: number) => {
    slack.setAppUrl(`${urls[n % 2] ?? ""}/slack/events`);
    return slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
  };
  for (let n = 0; n < 5; n += 1) await command(n);

  process.kill(redis.pid, "SIGKILL");
  await command(5);
  await slack.until(() => slack.ephemerals(ANA).length > 0, 10_000);
  const { port } = new URL(redis.url);
  resources.use(await startRedisServer({ ...durable, port }));
  await Promise.all(urls.map((url) => isReady(url)));
  await command(6);

  await slack.until(() => outcomesIn(slack).length >= 6, 120_000);
  expectOnce(slack, service, 6);
  expect(replicas.some(({ hasExited }) => hasExited)).toBe(false);
}, 180_000);

it.concurrent(
  "a replica that is stopped hands over what it runs: the other one goes on before the lease is over",
  { tags: "all", timeout: 90_000 },
  async () => {
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
  },
);

it.concurrent(
  "a replica that is stopped while Redis is silent ends by itself",
  { tags: "all", timeout: 60_000 },
  async () => {
    const { resources, redis, slack, service, open } = await startSides();
    await using _ = resources;
    const app = open();
    slack.setAppUrl(`${(await app.ready()) ?? ""}/slack/events`);
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await slack.until(() => service.creates.length === 1, 10_000);
    process.kill(redis.pid, "SIGSTOP");
    app.signal("SIGTERM");
    expect(await app.exit()).toBe(0);
    expect(app.stdout).toContain('"msg":"stopped"');
  },
);

it.concurrent(
  "a job service that tells one replica to wait is asked by none of them until then",
  { tags: "nightly", timeout: 120_000 },
  async () => {
    const { resources, slack, service, open } = await startSides();
    await using _ = resources;
    const asked: Array<{ op: string; atMs: number }> = [];
    service.onCall((phase, { op }) => {
      if (phase === "before") asked.push({ op, atMs: performance.now() });
    });
    const urls = await Promise.all([open(), open()].map(async (replica) => (await replica.ready()) ?? ""));
    const command = (n: number) => {
      slack.setAppUrl(`${urls[n % 2] ?? ""}/slack/events`);
      return slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
    };
    for (let n = 0; n < 4; n += 1) await command(n);
    // Each job is polled every half second at most.
    await slack.until(() => asked.filter(({ op }) => op === "get").length > 12, 30_000);

    const waitMs = 8_000;
    service.faults.add({
      op: "get",
      times: 1,
      fault: { kind: "status", status: 429, headers: { "retry-after": String(waitMs / 1_000) } },
    });
    const told = asked.length;
    await slack.until(() => asked.length > told, 10_000);
    const toldAtMs = asked[told]?.atMs ?? 0;
    await command(4);
    const isAskedAgain = () => asked.some(({ atMs }) => atMs > toldAtMs + waitMs - 100);
    await vi.waitFor(() => expect(isAskedAgain()).toBe(true), { timeout: 30_000 });
    service.script.completeAfterPolls(0, { prLink: PR });
    await slack.until(() => outcomesIn(slack).length >= 5, 60_000);

    // What was under way when it said so came at once.
    const within = asked.filter(({ atMs }) => atMs > toldAtMs + 2_000 && atMs < toldAtMs + waitMs - 100);
    expect(within).toEqual([]);
    expectOnce(slack, service, 5);
  },
);

it.concurrent(
  "says in /readyz what a crash of Redis may cost, and logs no password",
  { tags: "all", timeout: 60_000 },
  async () => {
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
  },
);

it.concurrent("does not start when Redis isn't there, and says what to do", async () => {
  const { resources, open } = await startSides();
  await using _ = resources;
  const app = open({ STORE_URL: "redis://127.0.0.1:1" });
  expect(await app.exit()).toBe(1);
  expect(app.stderr).toContain("Check that Redis runs and that STORE_URL is right");
}, 60_000);

it(
  "a replica that is stopped says that it isn't ready, and takes what proxies send until they have noticed",
  { tags: "all", timeout: 120_000 },
  async () => {
    const { resources, slack, service, open } = await startSides();
    await using _ = resources;
    service.script.completeAfterPolls(1, { prLink: PR });
    const replicas = [open(), open()];
    const [url = ""] = await Promise.all(replicas.map(async (replica) => (await replica.ready()) ?? ""));
    slack.setAppUrl(`${url}/slack/events`);
    replicas[0]?.signal("SIGTERM");
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { interval: 50 }).toBe(503);
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: "stopping" });
    expect((await slack.person(ANA).command({ channel: DOCS, text: "fix it" })).status).toBe(200);
    expect(await replicas[0]?.exit()).toBe(0);
    await slack.until(() => outcomesIn(slack).length === 1, 60_000);
    expectOnce(slack, service, 1);
  },
);
