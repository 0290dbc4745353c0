import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { startServiceWorld } from "../support/service-world.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

it(
  "between Slack and our own job service, the thread says what the agent said",
  { timeout: 60_000 },
  async () => {
    let finish = () => {};
    const mayFinish = new Promise<void>((resolve) => (finish = resolve));
    await using docs = await startServiceWorld(async (phase, what) => {
      // The agent says that it runs, and goes on when it is answered.
      if (phase === "before" && what === "POST /agent-runs") await mayFinish;
      return false;
    });
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

    expect((await slack.person(ANA).command({ channel: DOCS, text: "add a line" })).status).toBe(200);
    const root = await slack.until(() => slack.messages(DOCS)[0], 20_000);
    await slack.until(() => slack.visibleText(slack.messages(DOCS)[0] ?? root).includes("🔧"), 20_000);
    finish();
    const reply = await slack.until(() => slack.messages(DOCS)[1], 30_000);
    const text = slack.visibleText(reply);
    expect(text).toMatch(/^✅ @Ana Your pull request is ready:/);
    expect(text).toContain("Added a line to the quickstart.");
    expect(text).toMatch(/acme\/docs#1 \(http:.*\/acme\/docs\/pull\/1\)/);
    expect(reply.mentions).toEqual([`@${ANA}`]);
  },
);
