import { expect, it } from "vitest";
import { createAppMetrics } from "../../src/app/app-metrics.ts";
import { openBackend } from "../../src/app/backend.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

async function open() {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const config = { storeUrl: "memory://", retentionMs: 1000 };
  const backend = await openBackend({ config, clock, logger });
  return { ...backend, logger, clock, ...createAppMetrics({ ...backend, clock, logger }) };
}

it("counts a turn's end once, although the decision that ends it may run again", async () => {
  await using subject = await open();
  const { measure, registry } = subject;
  for (const id of ["T1 1", "T1 1", "T2 1", "T1 2"]) measure({ kind: "turn-ended", id, ending: "failed" });
  expect(await registry.metrics()).toContain(
    'docs_agent_turns_ended_total{outcome="failed",program="app"} 3\n',
  );
});

it("shows Slack's codes, but no other text, and no endless number of them", async () => {
  await using subject = await open();
  const { measure, registry } = subject;
  const refused = (error: string, retryAfterMs = 0) =>
    measure({ kind: "slack-refused", method: "chat.postMessage", error, retryAfterMs });
  refused("ratelimited", 30_000);
  refused("getaddrinfo ENOTFOUND secret.example");
  for (let n = 0; n < 1_000; n += 1) refused(`code_${n}`);
  const text = await registry.metrics();
  expect(text).toContain('{method="chat.postMessage",error="ratelimited",program="app"} 1\n');
  expect(text).toContain('docs_agent_slack_retry_after_seconds_total{program="app"} 30\n');
  expect(text).not.toContain("secret.example");
  expect(text.match(/^docs_agent_slack_refusals_total/gm)?.length).toBe(101);
});

it("a gauge that can't be read fails no scrape, and is logged once", async () => {
  await using subject = await open();
  const { registry, store, logger, clock } = subject;
  await store.close();
  const scrapes = [await registry.metrics()];
  clock.advance(60_000);
  scrapes.push(await registry.metrics());
  for (const text of scrapes) {
    expect(text).toContain('docs_agent_ready{program="app"} 0\n');
    expect(text).toContain("# TYPE docs_agent_dead_tasks gauge\n\n");
    expect(text).toContain('docs_agent_records_set_aside{program="app"} 0\n');
  }
  const said = logger.lines.filter(({ message }) => message === "a metric can't be read");
  expect(said.length).toBe(2);
});
