import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { agentFile, startServiceWorld } from "../support/service-world.ts";
import { withoutStop } from "../support/status-buttons.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, BEN, DOCS, environment, startSlackSide } from "../support/world.ts";

const SCRIPT = [
  { tool: "Edit docs/quickstart.md" },
  // The agent also notes in a second file how that went.
  { write: "./docs/quickstart.md", content: "# Quickstart\n\nnpm install acme\n" },
  { say: "Add the install command\n\nThe quickstart had none." },
];

it("between Slack and our own job service, the thread says what the agent does and said, also to follow-ups", async () => {
  let finish = () => {};
  const mayFinish = new Promise<void>((resolve) => (finish = resolve));
  await using docs = await startServiceWorld(
    async (phase, what) => {
      if (phase === "before" && what.endsWith("/git-receive-pack")) await mayFinish;
      return false;
    },
    { kind: "acp", command: [process.execPath, agentFile("acp-agent"), JSON.stringify(SCRIPT)] },
  );
  await using dir = await openTempDir();
  await using slack = await startSlackSide();
  await using service = new AppProcess({ env: docs.env, program: docs.program });
  const baseUrl = (await service.ready()) ?? "";
  await using app = new AppProcess({
    env: {
      ...environment(slack, { baseUrl }),
      DOCS_AGENT_API_KEY: docs.apiKey,
      PULL_REQUEST_HTTP_ORIGINS: docs.codeHostUrl,
      STORE_URL: `sqlite://${dir.file("state.sqlite")}`,
      POLL_MIN_MS: "50",
      POLL_MAX_MS: "200",
    },
  });
  slack.setAppUrl(`${await app.ready()}/slack/events`);

  expect((await slack.person(ANA).command({ channel: DOCS, text: "name the install command" })).status).toBe(
    200,
  );
  const status = () =>
    withoutStop(slack.messages(DOCS).map((message) => slack.visibleText(message))[0] ?? "");
  await slack.until(() => /🔧 Pushing \d changed files?$/.test(status()), 30_000);
  finish();
  const reply = await slack.until(() => slack.messages(DOCS)[1], 30_000);
  expect(slack.visibleText(reply).split("\n")).toEqual([
    "✅ @Ana Your pull request is ready:",
    "Add the install command",
    "The quickstart had none.",
    expect.stringMatching(/^acme\/docs#1 \(http:.*\/acme\/docs\/pull\/1\), 2 files, \+3 −0$/),
    "[View pull request]",
  ]);
  expect(reply.mentions).toEqual([`@${ANA}`]);
  await slack.until(
    () => /✅ acme\/docs#1 \(http.*\) Add the install command, 2 files, \+3 −0$/.test(status()),
    20_000,
  );

  const root = slack.messages(DOCS)[0]?.ts ?? "";
  const mention = (text: string) => slack.person(BEN).mention({ channel: DOCS, threadTs: root, text });
  const replies = () =>
    slack
      .thread(DOCS, root)
      .filter(({ bot_id }) => bot_id !== undefined)
      .map((message) => slack.visibleText(message).split("\n"));
  expect((await mention("the same in the FAQ")).status).toBe(200);
  await slack.until(() => replies().length === 4, 30_000);
  expect(replies()[3]).toEqual([
    expect.stringMatching(/^✅ @Ben The agent updated acme\/docs#1 \(http:.*\/acme\/docs\/pull\/1\)\.$/),
    "The quickstart had none.",
    "[View pull request]",
  ]);

  const jobId = /"job_id":"(job-\w+)"/.exec(app.stdout)?.[1] ?? "";
  const archived = await fetch(`${baseUrl}/v2/agent/docs/job/${jobId}/archive`, {
    method: "POST",
    headers: { authorization: `Bearer ${docs.apiKey}` },
  });
  expect(archived.status).toBe(200);
  expect((await mention("and the glossary")).status).toBe(200);
  await slack.until(() => replies().length === 6, 30_000);
  expect(replies()[4]?.[0]).toBe("That request is closed, so I started a new one.");
  expect(replies()[5]?.[0]).toBe("✅ @Ben Your pull request is ready:");
}, 120_000);

it("Stop reaches the agent of our own job service, and the thread says who stopped it", async () => {
  await using docs = await startServiceWorld(undefined, {
    kind: "acp",
    command: [
      process.execPath,
      agentFile("acp-agent"),
      JSON.stringify([{ tool: "Read docs/faq.md" }, { hang: true }]),
    ],
  });
  await using dir = await openTempDir();
  await using slack = await startSlackSide();
  await using service = new AppProcess({ env: docs.env, program: docs.program });
  const baseUrl = (await service.ready()) ?? "";
  await using app = new AppProcess({
    env: {
      ...environment(slack, { baseUrl }),
      DOCS_AGENT_API_KEY: docs.apiKey,
      STORE_URL: `sqlite://${dir.file("state.sqlite")}`,
      POLL_MIN_MS: "50",
      POLL_MAX_MS: "200",
    },
  });
  slack.setAppUrl(`${await app.ready()}/slack/events`);
  await slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
  const texts = () => slack.messages(DOCS).map((message) => slack.visibleText(message));
  await slack.until(() => texts()[0]?.includes("Read docs/faq.md"), 30_000);
  const root = slack.messages(DOCS)[0]?.ts ?? "";
  await slack.person(BEN).click({ channel: DOCS, messageTs: root, actionId: "stop_turn" });
  await slack.until(() => texts().length === 2 && texts()[0]?.endsWith("⏹️ Stopped"), 30_000);
  expect(texts()[1]?.split("\n").slice(0, 2)).toEqual([
    "⏹️ @Ana, @Ben stopped the agent.",
    "No pull request was opened.",
  ]);
}, 120_000);
