// @module-tag all

import { describe, expect, it, vi } from "vitest";
import type { SlackSide } from "../../world/slack/index.ts";
import { AppProcess, readiness } from "../support/app-process.ts";
import { DEFAULT_API_KEY, startJobServiceSide } from "../../world/job-service/side.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

describe("a job service that falls silent", () => {
  /** The app between a service that is silent, and one that is not. */
  async function start(resources: AsyncDisposableStack) {
    const storePath = resources.use(await openTempDir()).file("state.sqlite");
    const slack = resources.use(await startSlackSide());
    const silent = resources.use(await startJobServiceSide());
    const other = resources.use(await startJobServiceSide());
    other.script.completeAfterPolls(1, { prLink: PR });
    const channels = Array.from({ length: 100 }, (_, n) =>
      slack.workspace.addChannel({ name: `docs-${n}`, members: [ANA], withBot: true }),
    ).map(({ id }) => id);
    const app = resources.use(
      new AppProcess({
        env: {
          ...environment(slack, silent),
          DOCS_AGENT_PROJECTS: JSON.stringify([
            { name: "docs", id: "docs" },
            { name: "other", id: "docs", baseUrl: other.baseUrl },
          ]),
          DOCS_AGENT_API_KEY: DEFAULT_API_KEY,
          STORE_URL: `sqlite://${storePath}`,
          POLL_MIN_MS: "1000",
          POLL_MAX_MS: "1000",
          // Longer than this test takes: who waits for the silent service waits for good.
          JOB_SERVICE_TIMEOUT_MS: "600000",
          REQUESTS_PER_PERSON: "0",
          REQUESTS_PER_CHANNEL: "0",
        },
      }),
    );
    const url = await listening(app);
    slack.setAppUrl(`${url}/slack/events`);
    const askEverywhere = (text: string) =>
      Promise.all(channels.map((channel) => slack.person(ANA).command({ channel, text })));
    const running = async () => (await readiness(url)).tasks.running;
    return { slack, silent, other, askEverywhere, running };
  }

  async function expectOtherProjectAtOnce({ slack }: { slack: SlackSide }): Promise<void> {
    await slack.person(ANA).command({ channel: DOCS, text: "project=other fix it" });
    const outcome = await slack.until(
      () =>
        slack
          .messages(DOCS)
          .map((message) => slack.visibleText(message))
          .find((text) => text.includes("[View pull request]")),
      30_000,
    );
    expect(outcome).toContain("Your pull request is ready");
    expect(slack.messages(DOCS)).toHaveLength(2);
  }

  it(
    "with three hundred jobs that are watched there, holds up nothing of another project",
    { tags: "nightly", timeout: 120_000 },
    async () => {
      await using resources = new AsyncDisposableStack();
      const world = await start(resources);
      const { silent } = world;
      silent.faults.add({ op: "get", fault: { kind: "hang-before" } });
      for (const page of ["one", "two", "three"]) await world.askEverywhere(`fix page ${page}`);
      await vi.waitFor(() => expect(silent.creates).toHaveLength(300), 30_000);
      // As many polls hang as ever will.
      await vi.waitFor(async () => expect(await world.running()).toBeGreaterThan(60), 30_000);
      await expectOtherProjectAtOnce(world);
      expect(silent.gets).toEqual([]);
    },
  );

  it("with a hundred creates that it does not answer, holds up nothing of another project", async () => {
    await using resources = new AsyncDisposableStack();
    const world = await start(resources);
    const { silent } = world;
    silent.faults.add({ op: "create", fault: { kind: "hang-before" } });
    await world.askEverywhere("fix it");
    await vi.waitFor(async () => expect(await world.running()).toBeGreaterThan(30), 30_000);
    await expectOtherProjectAtOnce(world);
    expect(silent.creates).toEqual([]);
  }, 120_000);
});

async function listening(app: AppProcess): Promise<string> {
  const url = await app.ready();
  if (url === null) throw new Error(`the app did not start: ${app.stderr}`);
  return url;
}
