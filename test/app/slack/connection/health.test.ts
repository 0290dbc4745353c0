import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { readiness } from "../../../support/app-process.ts";
import { World } from "../../../support/world.ts";

async function probe(world: World) {
  const response = await fetch(`${world.appUrl}/readyz`);
  return { code: response.status, ...(await readiness(world.appUrl)) };
}

function identityCalls(world: World): number {
  return world.slack.calls.filter(({ method }) => method === "auth.test").length;
}

it("a token that Slack no longer accepts is reported; the app stays ready, as it can keep requests", async () => {
  await using world = await World.start();
  expect(await probe(world)).toMatchObject({ code: 200, status: "ok", checks: { slack: "ok" } });
  world.slack.workspace.revokeToken();
  world.clock.advance(31_000);
  await expect
    .poll(async () => {
      world.clock.advance(2000);
      return (await probe(world)).checks["slack"];
    })
    .toBe("token_revoked: Slack does not accept SLACK_BOT_TOKEN");
  expect(await probe(world)).toMatchObject({ code: 200, status: "degraded", checks: { store: "ok" } });
  expect(world.logger.text("warn")).toContain("token_revoked");
});

it("a Slack that is rate limited or slow delays no probe, and is asked once in 30 s, one question at a time", async () => {
  await using world = await World.start();
  expect(identityCalls(world)).toBe(1);
  world.slack.faults.add({ method: "auth.test", fault: { kind: "hang" } });
  world.clock.advance(31_000);
  // Each of these is answered although Slack is not.
  for (let n = 0; n < 20; n += 1) {
    expect(await probe(world)).toMatchObject({ code: 200, status: "ok" });
    world.clock.advance(2000);
  }
  expect(identityCalls(world)).toBe(2);
  world.slack.faults.add({ method: "auth.test", fault: { kind: "ratelimited", retryAfterS: 60 } });
  await expect
    .poll(
      async () => {
        world.clock.advance(2000);
        return (await probe(world)).checks["slack"];
      },
      { timeout: 15_000 },
    )
    .toContain("Slack can't be reached");
  expect(await probe(world)).toMatchObject({ code: 200, status: "degraded" });
});

it("a store that can't be written makes it unavailable", async () => {
  await using world = await World.start();
  const other = new DatabaseSync(world.storePath);
  other.exec("BEGIN IMMEDIATE");
  world.clock.advance(2000);
  expect(await probe(world)).toMatchObject({ code: 503, status: "unavailable", checks: { slack: "ok" } });
  other.close();
  world.clock.advance(2000);
  expect(await probe(world)).toMatchObject({ code: 200, status: "ok" });
});
