// @module-tag all
// @module-tag redis-server
import { expect, it } from "vitest";
import { readiness } from "../support/app-process.ts";
import { PRIMARY, portOf, startStandby } from "../support/redis-standbys.ts";
import { PR, expectOnce, isReady, outcomesIn, startSides } from "../support/replicas.ts";
import { ANA, DOCS } from "../support/world.ts";

const ON_ONE_MACHINE =
  "Saved, but only on one machine so far. If you hear nothing here in five minutes, ask again.";
const NOT_TAKEN =
  "I can't take requests right now, because they'd be saved on only one machine. " +
  "Ask again in a few minutes. If it keeps happening, contact @UADMIN.";

it("the only standby is down: what people read is true, and nothing ends as unknown for it", async () => {
  const { resources, redis, slack, service, open } = await startSides(
    PRIMARY,
    {},
    { idempotencyKeys: false },
  );
  await using _ = resources;
  const standby = resources.use(await startStandby(portOf(redis)));
  service.script.completeAfterPolls(1, { prLink: PR });
  const app = open({
    STORE_URL: `${redis.url}?standbys=1`,
    DOCS_AGENT_IDEMPOTENCY_KEYS: "false",
    HELP_CONTACT: "<@UADMIN>",
  });
  const url = (await app.ready()) ?? "";
  slack.setAppUrl(`${url}/slack/events`);
  const ask = (text: string) => slack.person(ANA).command({ channel: DOCS, text });
  const told = () => slack.ephemerals(ANA).map((message) => slack.visibleText(message));
  await ask("fix page 1");
  await slack.until(() => outcomesIn(slack).length === 1, 20_000);
  expect(told()).toEqual([]);

  process.kill(standby.pid, "SIGSTOP");
  await ask("fix page 2");
  await slack.until(() => told().length === 1, 10_000);
  expect(told()).toEqual([ON_ONE_MACHINE]);
  // They hear of it, but nothing that may not happen twice is begun.
  await slack.until(
    () => slack.messages(DOCS).some((message) => slack.visibleText(message).includes("fix page 2")),
    20_000,
  );
  expect(service.creates).toHaveLength(1);

  await expect
    .poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: 30_000, interval: 200 })
    .toBe(503);
  expect((await readiness(url)).checks).toMatchObject({
    store: expect.stringMatching(/on too few machines for 1\d s .*Start the standbys/),
  });
  await ask("fix page 3");
  await slack.until(() => told().length === 2, 10_000);
  expect(told().at(-1)).toBe(NOT_TAKEN);
  expect(service.creates).toHaveLength(1);

  process.kill(standby.pid, "SIGCONT");
  await isReady(url);
  await ask("fix page 4");
  await slack.until(() => outcomesIn(slack).length === 3, 60_000);
  expectOnce(slack, service, 3);
  expect(service.creates.map(({ prompt }) => prompt).join()).not.toContain("page 3");
  expect(told()).toEqual([ON_ONE_MACHINE, NOT_TAKEN]);
  const all = slack.messages(DOCS).map((message) => slack.visibleText(message));
  expect(all.join("\n")).not.toContain("unknown");
}, 180_000);
