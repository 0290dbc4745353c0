import { expect, it } from "vitest";
import type { SlackDelivery, SlackSide } from "../../emulators/slack/index.ts";
import { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide } from "../support/job-service-side.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const PASSWORD = "p%40ss-of-redis";
const TIMEOUT_MS = 240_000;

async function runMigrate(...args: string[]): Promise<AppProcess & { code: unknown }> {
  const migration = new AppProcess({
    env: {},
    program: { file: "src/migrate/main.ts", args, readyMessage: "" },
  });
  return Object.assign(migration, { code: await migration.exit() });
}

function outcomesIn(slack: SlackSide) {
  return slack
    .messages(DOCS)
    .filter(({ metadata }) => String(metadata?.event_payload["post"]).startsWith("outcome"));
}

it(
  "jobs under way move to Redis and back: each gets its one outcome, old buttons work, and what Slack sends again is known",
  async () => {
    await using resources = new AsyncDisposableStack();
    const redis = resources.use(
      await startRedisServer({ appendonly: "yes", appendfsync: "always", requirepass: "p@ss-of-redis" }),
    );
    const redisUrl = redis.url.replace("redis://", `redis://:${PASSWORD}@`);
    const dir = resources.use(await openTempDir());
    const [first, second] = [`sqlite://${dir.file("first.sqlite")}`, `sqlite://${dir.file("second.sqlite")}`];
    const slack = resources.use(await startSlackSide());
    const service = resources.use(await startJobServiceSide());
    const env = { ...environment(slack, service), POLL_MIN_MS: "200", POLL_MAX_MS: "500" };
    const ana = slack.person(ANA);
    const sent: SlackDelivery[] = [];

    async function start(storeUrl: string): Promise<AppProcess> {
      const app = resources.use(new AppProcess({ env: { ...env, STORE_URL: storeUrl } }));
      const url = await app.ready();
      expect(url === null ? app.stderr : "").toBe("");
      slack.setAppUrl(`${url}/slack/events`);
      return app;
    }
    async function stop(apps: AppProcess[]): Promise<void> {
      for (const app of apps) app.signal("SIGTERM");
      expect(await Promise.all(apps.map((app) => app.exit()))).toEqual(apps.map(() => 0));
    }
    async function ask(text: string): Promise<string> {
      const { status, delivery } = await ana.command({ channel: DOCS, text });
      expect(status).toBe(200);
      sent.push(delivery);
      return await slack.until(() => service.creates.find(({ prompt }) => prompt === text)?.jobId, 30_000);
    }
    async function ends(jobId: string, outcomes: number): Promise<void> {
      service.finish(jobId, { status: "completed", prLink: PR });
      await slack.until(() => outcomesIn(slack).length >= outcomes, 60_000);
    }
    async function moved(from: string, to: string): Promise<void> {
      const { code, stdout, stderr } = await runMigrate("--from", from, "--to", to);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(stdout).toMatch(/found the same:\n {2}\d+ records\n/);
      expect(stdout).toContain("Don't start an app on it");
      for (const secret of [PASSWORD, "p@ss-of-redis"]) expect(stdout).not.toContain(secret);
    }

    const onFile = await start(first);
    service.finish(await ask("fix page 0"), { status: "failed" });
    await slack.until(() => outcomesIn(slack).length >= 1, 30_000);
    const [failed] = outcomesIn(slack);
    const early = [await ask("fix page 1"), await ask("fix page 2")];
    // While the app runs, nothing is moved.
    const refused = await runMigrate("--from", first, "--to", redisUrl);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("Stop the app, and run this again");
    await stop([onFile]);

    await moved(first, redisUrl);
    const replicas = [await start(redisUrl), await start(redisUrl)];
    await ends(early[0] ?? "", 2);
    expect(
      (await ana.click({ channel: DOCS, messageTs: failed?.ts ?? "", actionId: "try_again" })).status,
    ).toBe(200);
    const again = await slack.until(
      () => service.creates.filter(({ prompt }) => prompt === "fix page 0")[1]?.jobId,
      30_000,
    );
    await ends(again, 3);
    for (const delivery of sent) expect((await slack.redeliver(delivery, { resign: true })).status).toBe(200);
    const late = await ask("fix page 3");
    const inUse = await runMigrate("--from", redisUrl, "--to", second);
    expect(inUse.code).toBe(1);
    expect(inUse.stderr).toContain("Stop all replicas, and run this again");
    await stop(replicas);

    await moved(redisUrl, second);
    const back = await start(second);
    for (const delivery of sent) expect((await slack.redeliver(delivery, { resign: true })).status).toBe(200);
    await ends(early[1] ?? "", 4);
    await ends(late, 5);
    // Whatever had been doubled would have been there before this one.
    await ends(await ask("fix page 4"), 6);
    await stop([back]);

    expect(service.creates.map(({ prompt }) => prompt).toSorted()).toEqual([
      "fix page 0",
      "fix page 0",
      "fix page 1",
      "fix page 2",
      "fix page 3",
      "fix page 4",
    ]);
    const outcomes = outcomesIn(slack);
    expect(outcomes).toHaveLength(6);
    expect(new Set(outcomes.map(({ thread_ts: ts, text }) => `${ts} ${text}`)).size).toBe(6);
    const roots = slack
      .messages(DOCS)
      .filter(({ ts, thread_ts: thread }) => thread === undefined || thread === ts);
    expect(roots).toHaveLength(sent.length);
  },
  TIMEOUT_MS,
);

it.concurrent("--help says what to do", async () => {
  const { code, stdout } = await runMigrate("--help");
  expect(code).toBe(0);
  for (const text of ["--from <url>", "--to <url>", "Stop the app first", "run it again"]) {
    expect(stdout).toContain(text);
  }
});

it.concurrent.each([
  [["--from", "sqlite://./x.sqlite"], "required option '--to <url>' not specified"],
  [
    ["--from", "sqlite://./x.sqlite", "--to", "sqlite://./y.sqlite"],
    "One of --from and --to must be sqlite://path",
  ],
  [["--from", "redis://:geheim@h", "--to", "redis://:geheim@i"], "the other redis://host:6379"],
  [["--from", "sqlite://./x", "--to", "redis://:100%geheim@h"], "written as %25"],
  [
    ["--from", "sqlite://./x", "--to", "sqlite://./y", "--into=redis://user:geheim/1@h"],
    "'--into=redis://h'",
  ],
  [["--from", "sqlite:///no/such/file", "--to", "redis://:geheim@127.0.0.1:1"], "there is nothing in it"],
  [["--from", "redis://:geheim@127.0.0.1:1", "--to", "sqlite:///tmp/x"], "Check that Redis runs"],
])("%j ends with exit code 1 and what to do, without a password", async (args, message) => {
  const { code, stdout, stderr } = await runMigrate(...args);
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stdout + stderr).not.toContain("geheim");
});
