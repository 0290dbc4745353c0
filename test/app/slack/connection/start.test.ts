import { it } from "vitest";
import { AppProcess, readiness } from "../../../support/app-process.ts";
import { startJobServiceSide } from "../../../../world/job-service/side.ts";
import { openTempDir } from "../../../support/temp-dir.ts";
import { ANA, APP_TOKEN, DOCS, environment, startSlackSide } from "../../../support/world.ts";

async function startSides() {
  const resources = new AsyncDisposableStack();
  const storePath = resources.use(await openTempDir()).file("state.sqlite");
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide());
  const env = { ...environment(slack, service), STORE_URL: `sqlite://${storePath}` };
  const open = (overrides: Record<string, string> = {}) =>
    resources.use(new AppProcess({ env: { ...env, ...overrides } }));
  return { resources, slack, service, open };
}

it.concurrent("a Slack that is away when the app starts: commands are kept, mentions left for later, and all is done once it is back", async ({
  expect,
}) => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  slack.faults.add({ method: "*", times: 1e6, fault: { kind: "drop-before" } });
  const app = open();
  const url = (await app.ready()) ?? "";
  slack.setAppUrl(`${url}/slack/events`);
  const person = slack.person(ANA);

  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await readiness(url)).toMatchObject({
    status: "degraded",
    checks: { store: "ok", queue: "ok", slack: expect.stringContaining("Slack can't be reached") },
  });
  expect(await person.command({ channel: DOCS, text: "fix the FAQ" })).toMatchObject({ status: 200 });
  // Which of the mentions in it is the app's, it can't know yet.
  const mention = await person.mention({ channel: DOCS, text: "fix the quickstart" });
  expect(mention).toMatchObject({ status: 503 });

  slack.faults.clear();
  await slack.until(() => slack.messages(DOCS).some((message) => message.bot_id !== undefined), 15_000);
  await expect.poll(async () => (await readiness(url)).checks["slack"], { timeout: 15_000 }).toBe("ok");
  if (mention.delivery === undefined) throw new Error("the app is not in the channel");
  const again = await slack.redeliver(mention.delivery, { retryNum: 1, resign: true });
  expect(again).toMatchObject({ status: 200 });
  await slack.until(() => service.creates.length === 2, 15_000);
  expect(service.creates.map(({ prompt }) => prompt).toSorted()).toEqual([
    "fix the FAQ",
    "fix the quickstart",
  ]);
  expect(app.hasExited).toBe(false);
}, 60_000);

it.concurrent(
  "a Socket Mode that is not to be had when the app starts is tried again until it is",
  { tags: "all", timeout: 60_000 },
  async ({ expect }) => {
    const { resources, slack, service, open } = await startSides();
    await using _ = resources;
    slack.faults.add({ method: "apps.connections.open", times: 2, fault: { kind: "drop-before" } });
    slack.faults.add({
      method: "apps.connections.open",
      fault: { kind: "error", error: "internal_error" },
    });
    const app = open({ SLACK_APP_TOKEN: APP_TOKEN });
    const url = (await app.ready()) ?? "";
    expect(await readiness(url)).toMatchObject({
      status: "degraded",
      checks: { slack: expect.stringContaining("Socket Mode can't connect") },
    });
    await slack.socketMode.whenConnected(20_000);
    const command = await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    expect(command).toMatchObject({ status: 200 });
    await slack.until(() => service.creates.length === 1);
  },
);

it.concurrent(
  "SIGTERM ends a start that waits for Slack, and exits 0",
  { tags: "all" },
  async ({ expect }) => {
    const { resources, slack, open } = await startSides();
    await using _ = resources;
    slack.faults.add({ method: "auth.test", fault: { kind: "hang" } });
    const app = open();
    await expect.poll(() => slack.calls.length, { timeout: 10_000 }).toBe(1);
    app.signal("SIGTERM");
    expect(await app.exit()).toBe(0);
    expect(app.stdout).not.toContain("docs-agent is ready");
    expect(app.stdout).toContain('"msg":"stopped"');
    expect(app.stderr).toBe("");
  },
);

it.concurrent(
  "SIGTERM ends a start that waits for the store, and exits 0",
  { tags: "all" },
  async ({ expect }) => {
    const { resources, open } = await startSides();
    await using _ = resources;
    await open().ready();
    const second = open();
    await expect
      .poll(() => second.stdout, { timeout: 10_000 })
      .toContain("waiting for the process that uses the store to end");
    second.signal("SIGTERM");
    expect(await second.exit()).toBe(0);
    expect(second.stdout).toContain('"msg":"stopped"');
  },
);

it.concurrent("SIGTERM is heard before anything of the program is loaded: process 1 ignores a signal that has no handler", async ({
  expect,
}) => {
  const { resources, slack, open } = await startSides();
  await using _ = resources;
  const signalAtOnce = `process.on("newListener", (event) => {
    if (event === "SIGTERM") process.nextTick(() => process.kill(process.pid, "SIGTERM"));
  })`;
  const app = open({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(signalAtOnce)}` });
  expect(await app.exit()).toBe(0);
  // It had come no further.
  expect(slack.calls).toEqual([]);
  expect(app.stdout).not.toContain("docs-agent is ready");
  expect(app.stderr).toBe("");
});
