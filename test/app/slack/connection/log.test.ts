import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { DIRECT } from "../../../../src/shared/machine/proxy.ts";
import { createSlackConnection } from "../../../../src/app/slack/connection/connection.ts";
import { ManualClock } from "../../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { ANA, BOT_TOKEN, DOCS, SIGNING_SECRET, World, startSlackSide } from "../../../support/world.ts";

it("of a thousand bad signatures the first is logged at once, the others as one line a minute later", async () => {
  await using world = await World.start();
  const refuse = (n: number) =>
    fetch(`${world.appUrl}/slack/events`, {
      method: "POST",
      headers: {
        "x-slack-signature": `v0=${n}`,
        "x-slack-request-timestamp": String(Math.floor(Date.now() / 1000)),
      },
      body: String(n),
    }).then((response) => response.text());
  for (let n = 0; n < 1000; n += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, m) => refuse(n + m)));
  }
  const lines = () => world.logger.lines.filter(({ level }) => level === "warn" || level === "error");
  expect(lines()).toHaveLength(1);
  world.clock.advance(60_000);
  expect(lines()).toHaveLength(2);
  expect(lines()[1]?.fields).toMatchObject({ status: 401, repeated: 999 });
  world.clock.advance(3_600_000);
  expect(lines()).toHaveLength(2);
  await refuse(0);
  expect(lines()).toHaveLength(3);
});

describe("a listener that fails", () => {
  /** Bolt as the app has it, with listeners of the test's own. */
  async function startConnection() {
    const resources = new AsyncDisposableStack();
    const slack = resources.use(await startSlackSide());
    const logger = new RecordingLogger();
    const connection = createSlackConnection({
      slack: {
        botToken: BOT_TOKEN,
        apiUrl: slack.apiUrl,
        receive: { kind: "http", signingSecret: SIGNING_SECRET },
      },
      wantedScopes: {},
      proxy: DIRECT,
      isOnly: true,
      measure: () => {},
      clock: new ManualClock(),
      random: () => 0.5,
      logger,
    });
    await connection.identify();
    const server = createServer(connection.requestListener).listen(0, "127.0.0.1");
    await once(server, "listening");
    resources.defer(() => void server.close());
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    slack.setAppUrl(`http://127.0.0.1:${port}/slack/events`);
    const lines = () => logger.lines.filter(({ level }) => level === "warn" || level === "error");
    return { resources, slack, bolt: connection.bolt, lines, port };
  }

  it.each([
    ["before its ack", false, 500],
    ["after its ack", true, 200],
  ])("%s leaves one line, with the cause", async (_, acksFirst, status) => {
    const { resources, slack, bolt, lines, port } = await startConnection();
    await using _resources = resources;
    bolt.command("/docs-agent", async ({ ack }) => {
      if (acksFirst) await ack();
      throw new Error("the disk is on fire");
    });
    expect(await slack.person(ANA).command({ channel: DOCS, text: "fix it" })).toMatchObject({ status });
    // Bolt waits 3 s for an ack. What comes after, and is never acked, tells when that time is over for what came before.
    const body = new URLSearchParams({
      command: "/other",
      team_id: "T1",
      channel_id: DOCS,
      user_id: ANA,
    }).toString();
    const timestamp = String(Math.floor(Date.now() / 1000));
    const mac = createHmac("sha256", SIGNING_SECRET).update(`v0:${timestamp}:${body}`).digest("hex");
    const unheard = await fetch(`http://127.0.0.1:${port}/slack/events`, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": `v0=${mac}`,
      },
      body,
    });
    expect(unheard.status).toBe(404);
    expect(lines()).toMatchObject([
      {
        level: "error",
        message: "could not handle what Slack sent",
        fields: { err: { message: "the disk is on fire" }, is_acknowledged: acksFirst },
      },
      { level: "warn", message: "Slack sent something that nothing here handled within 3 s" },
    ]);
  });

  it("of an event is logged once, and the event is left for Slack to send again", async () => {
    const { resources, slack, bolt, lines } = await startConnection();
    await using _ = resources;
    bolt.event("app_mention", async () => {
      throw new Error("the disk is on fire");
    });
    const mention = await slack.person(ANA).mention({ channel: DOCS, text: "fix it" });
    expect(mention).toMatchObject({ status: 500 });
    expect(lines()).toHaveLength(1);
  });
});
