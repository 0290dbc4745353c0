import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { readiness } from "../../../support/app-process.ts";
import { ANA, APP_TOKEN, DOCS, World } from "../../../support/world.ts";

const OPEN = "apps.connections.open";

const start = () => World.start({ socketMode: true });

/** A command, and what became of it. */
async function ask(world: World, text: string) {
  const outcome = await world.slack.person(ANA).command({ channel: DOCS, text });
  expect(outcome.delivery.transport).toBe("socket");
  return outcome;
}

it("at a refresh the next connection is there before the old one is left", async () => {
  await using world = await start();
  const { socketMode } = world.slack;
  const opened = () =>
    world.slack.calls.filter(({ method, result }) => method === OPEN && result === "ok").length;
  // The next one is not to be had at first: the old one serves on.
  world.slack.faults.add({ method: OPEN, fault: { kind: "drop-before" } });
  socketMode.disconnect();
  await expect.poll(() => world.logger.text("warn")).toContain("Socket Mode can't connect");
  expect(await ask(world, "fix page 1")).toMatchObject({ status: 200 });
  expect(await readiness(world.appUrl)).toMatchObject({ checks: { slack: "ok" } });
  expect(opened()).toBe(1);

  world.clock.advance(2000);
  await expect.poll(opened).toBe(2);
  await expect.poll(() => socketMode.connections).toBe(1);
  expect(await ask(world, "fix page 2")).toMatchObject({ status: 200 });
  await world.until(() => world.service.creates.length === 2);
});

it("a refresh leaves no moment without a connection", async () => {
  await using world = await start();
  const { socketMode } = world.slack;
  expect(socketMode.connectionCounts).toEqual([1]);
  socketMode.disconnect();
  await expect.poll(() => socketMode.connectionCounts).toEqual([1, 2, 1]);
});

it("a connection that breaks is replaced at once", async () => {
  await using world = await start();
  world.slack.socketMode.drop();
  await expect.poll(() => world.slack.socketMode.connectionCounts).toEqual([1, 0, 1]);
  expect(await ask(world, "fix it")).toMatchObject({ status: 200 });
});

it("a reconnect that gets no hello is dropped after 30 s and tried again", async () => {
  await using world = await start();
  const { socketMode } = world.slack;
  socketMode.withholdHello(1);
  socketMode.drop();
  await expect.poll(() => socketMode.deafConnections).toBe(1);
  expect(await readiness(world.appUrl)).toMatchObject({
    status: "degraded",
    checks: { slack: "Socket Mode is not connected" },
  });
  await expect
    .poll(() => {
      world.clock.advance(10_000);
      return socketMode.connections;
    })
    .toBe(1);
  expect(socketMode.deafConnections).toBe(0);
  expect(await ask(world, "fix it")).toMatchObject({ status: 200 });
});

it("an app token that is refused at a reconnect is logged once, and tried again every minute", async () => {
  await using world = await start();
  const refused = world.slack.faults.add({
    method: OPEN,
    times: 1e6,
    fault: { kind: "error", error: "invalid_auth" },
  });
  world.slack.socketMode.drop();
  const opens = () => world.slack.calls.filter(({ method }) => method === OPEN).length;
  await expect
    .poll(() => world.logger.text("warn"))
    .toContain("invalid_auth: Slack does not accept SLACK_APP_TOKEN");
  const before = opens();
  world.clock.advance(55_000);
  expect(opens()).toBe(before);
  world.clock.advance(10_000);
  await expect.poll(opens).toBe(before + 1);
  expect(world.logger.text("warn").match(/no Socket Mode connection/g)).toHaveLength(1);
  refused();
  await expect
    .poll(() => {
      world.clock.advance(60_000);
      return world.slack.socketMode.connections;
    })
    .toBe(1);
});

it("a proxy that asks for a day's pause at a reconnect gets a quarter of an hour", async () => {
  await using world = await start();
  world.slack.faults.add({ method: OPEN, fault: { kind: "ratelimited", retryAfterS: 86_400 } });
  world.slack.socketMode.drop();
  await expect.poll(() => world.logger.text("warn")).toContain("ratelimited");
  world.clock.advance(15 * 60_000);
  await expect.poll(() => world.slack.socketMode.connections).toBe(1);
});

describe("another program on the same app", () => {
  const SHARED = "Slack has 1 more Socket Mode connection of this app";
  const warnings = (world: World) => world.logger.text("warn").split(SHARED).length - 1;
  const counts = (world: World) => world.slack.socketMode.connectionCounts;

  async function another(world: World) {
    const connection = new WebSocket(world.slack.socketMode.issueUrl());
    await once(connection, "open");
    await expect.poll(() => counts(world).at(-1)).toBe(2);
    return connection;
  }

  it("is warned of once, and shown in /readyz until it has gone", async () => {
    await using world = await start();
    const { socketMode } = world.slack;
    const other = await another(world);
    expect(await readiness(world.appUrl)).toMatchObject({ checks: { slack: "ok" } });

    for (const refreshes of [1, 2]) {
      const before = counts(world).length;
      world.clock.advance(3_600_000);
      socketMode.disconnect();
      await expect.poll(() => counts(world).slice(before)).toEqual([3, 2]);
      expect(warnings(world), `after ${refreshes}`).toBe(1);
      const { status, checks } = await readiness(world.appUrl);
      expect(status).toBe("degraded");
      expect(checks.slack).toContain(SHARED);
    }

    other.terminate();
    await expect.poll(() => socketMode.connections).toBe(1);
    world.clock.advance(3_600_000);
    socketMode.disconnect();
    await expect.poll(() => counts(world).slice(-3)).toEqual([1, 2, 1]);
    expect(await readiness(world.appUrl)).toMatchObject({ status: "ok", checks: { slack: "ok" } });
    expect(warnings(world)).toBe(1);
  });

  it("isn't suspected because Slack still counts a connection of ours that broke", async () => {
    await using world = await start();
    const { socketMode } = world.slack;
    socketMode.ghosts = 1;
    socketMode.drop();
    await expect.poll(() => counts(world)).toEqual([1, 0, 1]);
    expect(await readiness(world.appUrl)).toMatchObject({ checks: { slack: "ok" } });

    world.clock.advance(3_600_000);
    socketMode.disconnect();
    await expect.poll(() => counts(world)).toEqual([1, 0, 1, 2, 1]);
    expect(warnings(world)).toBe(1);
  });
});

describe("an envelope that Slack would not send", () => {
  const envelope = (payload: unknown, more: object = {}) =>
    JSON.stringify({ envelope_id: "E1", type: "events_api", payload, ...more });
  it.each([
    ["no JSON", "{"],
    ["null", "null"],
    ["a list", "[]"],
    ["no payload", JSON.stringify({ envelope_id: "E1", type: "events_api" })],
    ["a payload that is null", envelope(null)],
    ["an event that is null", envelope({ type: "event_callback", event: null })],
    ["no event", envelope({ type: "event_callback" })],
    ["an event without a type", envelope({ type: "event_callback", event: {} })],
    [
      "a type that the SDK uses for itself",
      envelope({ type: "event_callback", event: { type: "ws_message" } }),
    ],
    ["a type that ends connections", envelope({ type: "event_callback", event: { type: "close" } })],
    ["a command that is a number", envelope(7, { type: "slash_commands" })],
    ["a form without a view", envelope({ type: "view_submission" }, { type: "interactive" })],
  ])("with %s ends nothing and leaves at most one line in the log", async (_, text) => {
    await using world = await start();
    world.slack.socketMode.sendRaw(text);
    world.slack.socketMode.sendRaw(text);
    expect(await ask(world, "fix it")).toMatchObject({ status: 200 });
    await world.until(() => world.service.creates.length === 1);
    expect(world.logger.lines.filter(({ level }) => level === "warn").length).toBeLessThanOrEqual(1);
    expect(world.slack.socketMode.connections).toBe(1);
  });
});

it("no app token appears in the log", async () => {
  await using world = await start();
  world.slack.faults.add({ method: OPEN, fault: { kind: "garbage" } });
  world.slack.socketMode.drop();
  await expect.poll(() => world.logger.text("warn")).toContain("Socket Mode can't connect");
  expect(JSON.stringify(world.logger.lines)).not.toContain(APP_TOKEN);
});
