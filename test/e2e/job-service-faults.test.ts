// @module-tag all

import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, World, environment, startSlackSide } from "../support/world.ts";
import type { WorldOptions } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function creates(world: World) {
  return world.service.calls.filter(({ op }) => op === "create");
}

describe("a store that cannot be written when the job service has said which job it is", () => {
  it("for a few seconds costs nothing: the job is watched, and ends in its pull request", async () => {
    await using world = await World.start();
    const { slack, service, clock, logger } = world;
    service.script.completeAfterPolls(1, { prLink: PR });
    const other = new DatabaseSync(world.storePath);
    service.onCall((phase, { op }) => {
      // Another program holds the file from before the answer on.
      if (op === "create" && phase === "after") other.exec("BEGIN IMMEDIATE");
    });
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    // The first time it is an error, and then only for who looks closely.
    const said = () => logger.text("error") + logger.text("debug");
    const failures = () => said().split("a result could not be written").length - 1;
    for (const count of [1, 2, 3]) {
      await vi.waitFor(() => expect(failures()).toBeGreaterThanOrEqual(count), 10_000);
      clock.advance(1000);
    }
    // So that an operator finds the job even if the process dies now.
    expect(logger.text("info")).toContain('"job_id":"job_1"');
    service.onCall(null);
    other.exec("ROLLBACK");
    other.close();
    clock.advance(1000);
    await world.until(() => world.read(DOCS).some((text) => text.includes("Your pull request is ready")));
    await world.pass(DAY_MS);
    expect(world.read(DOCS)).toHaveLength(2);
    expect(creates(world)).toHaveLength(1);
  });
});

describe("an answer to a create that is lost", () => {
  const ways: [string, WorldOptions & { learned: boolean }][] = [
    ["announces that it honors idempotency keys", { learned: true, jobService: { idempotencyKeys: true } }],
    [
      "honors them, as the operator has set",
      { learned: false, jobService: { idempotencyKeys: true }, env: { DOCS_AGENT_IDEMPOTENCY_KEYS: "true" } },
    ],
  ];

  describe.each(ways)("at a service that %s", (_, { learned, ...options }) => {
    async function startWorld(): Promise<World> {
      const world = await World.start(options);
      const { slack, service } = world;
      service.script.completeAfterPolls(1, { prLink: PR });
      if (!learned) return world;
      await slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
      await world.pass(HOUR_MS);
      expect(world.read(DOCS)).toHaveLength(2);
      return world;
    }

    it.each([
      ["drop-after", { kind: "drop-after" as const }],
      ["a gateway's 503 after it", { kind: "gateway" as const, status: 503, isReached: true }],
      ["its own 500", { kind: "status" as const, status: 500 }],
    ])("(%s) is asked for again under the same key: one job, and its outcome", async (__, fault) => {
      await using world = await startWorld();
      const { slack, service } = world;
      const before = { jobs: service.creates.length, calls: creates(world).length };
      service.faults.add({ op: "create", times: 3, fault });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await world.pass(HOUR_MS);
      const calls = creates(world).slice(before.calls);
      expect(calls).toHaveLength(4);
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(new Set(calls.map(({ prompt }) => prompt))).toEqual(new Set(["fix it"]));
      expect(service.creates).toHaveLength(before.jobs + 1);
      expect(world.read(DOCS).at(-1)).toContain("Your pull request is ready");
    });

    it("and then the app's death, leads to one job all the same", async () => {
      await using world = await startWorld();
      const { slack, service } = world;
      const before = { jobs: service.creates.length, calls: creates(world).length };
      const reached = Promise.withResolvers<void>();
      service.onCall((phase, { op }) => {
        if (op === "create" && phase === "after") reached.resolve();
      });
      service.faults.add({ op: "create", times: 1, fault: { kind: "hang-after" } });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await reached.promise;
      service.onCall(null);
      await world.stopApp();
      await world.startApp();
      await world.pass(HOUR_MS);
      const calls = creates(world).slice(before.calls);
      expect(calls).toHaveLength(2);
      expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
      expect(service.creates).toHaveLength(before.jobs + 1);
      expect(world.read(DOCS).at(-1)).toContain("Your pull request is ready");
    });
  });

  it(
    "and then SIGKILL, leads to one job at a service that honors idempotency keys",
    { tags: "nightly" },
    async () => {
      await using resources = new AsyncDisposableStack();
      const storePath = resources.use(await openTempDir()).file("state.sqlite");
      const slack = resources.use(await startSlackSide());
      const service = resources.use(await startJobServiceSide({ idempotencyKeys: true }));
      service.script.completeAfterPolls(1, { prLink: PR });
      const env = {
        ...environment(slack, service),
        DOCS_AGENT_IDEMPOTENCY_KEYS: "true",
        STORE_URL: `sqlite://${storePath}`,
        POLL_MIN_MS: "20",
        POLL_MAX_MS: "50",
      };
      const first = resources.use(new AppProcess({ env }));
      slack.setAppUrl(`${await first.ready()}/slack/events`);
      service.onCall(async (phase, { op }) => {
        if (op === "create" && phase === "after") await first.kill();
      });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await first.exit();
      service.onCall(null);
      const second = resources.use(new AppProcess({ env }));
      slack.setAppUrl(`${await second.ready()}/slack/events`);
      const text = () => slack.messages(DOCS).map((message) => slack.visibleText(message));
      await slack.until(
        () => text().filter((line) => line.includes("[View pull request]")).length === 1,
        15_000,
      );
      const calls = service.calls.filter(({ op }) => op === "create");
      expect(calls).toHaveLength(2);
      expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
      expect(service.creates).toHaveLength(1);
    },
  );

  it("at a service that says nothing of keys is never asked for again: the result is unknown, with Try again", async () => {
    await using world = await World.start();
    world.service.faults.add({ op: "create", times: 1, fault: { kind: "drop-after" } });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.pass(2 * DAY_MS);
    expect(creates(world)).toHaveLength(1);
    expect(world.read(DOCS)).toHaveLength(2);
    expect(world.read(DOCS)[1]).toContain("❓");
    expect(world.read(DOCS)[1]).toContain("[Try again]");
  });

  it.each([429, 503])(
    "by a gateway's %i counts as lost: one create, and the result is unknown",
    async (status) => {
      await using world = await World.start();
      world.service.faults.add({ op: "create", fault: { kind: "gateway", status, isReached: true } });
      await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await world.pass(2 * DAY_MS);
      expect(creates(world)).toHaveLength(1);
      expect(world.read(DOCS)[1]).toContain("[Try again]");
    },
  );
});

describe("polls that are answered by something in front of the job service", () => {
  it.each([404, 403, 401, 302])("with a page and %i, for an hour, end nothing", async (status) => {
    await using world = await World.start();
    const { slack, service } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => service.gets.length === 1);
    service.faults.add({
      op: "get",
      fault: { kind: "gateway", status, ...(status === 302 ? { headers: { location: "/login" } } : {}) },
    });
    await world.pass(HOUR_MS);
    expect(world.read(DOCS)).toHaveLength(1);
    expect(world.read(DOCS)[0]).toContain("⚠️");
    service.faults.clear();
    service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await world.until(() => world.read(DOCS).length === 2);
    expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
  });
});

describe("a job that the job service itself says it does not know", () => {
  it("is given up only after three such answers over three minutes", async () => {
    await using world = await World.start();
    const { slack, service, clock } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => service.gets.length === 1);
    const missing = { op: "get", fault: { kind: "status", status: 404 } } as const;
    service.faults.add(missing);
    const polls = () => service.calls.filter(({ op }) => op === "get").length;
    const before = polls();
    const since = await world.until(() => polls() > before && clock.now());
    await world.pass(3 * MINUTE_MS - 1000);
    expect(polls() - before).toBeGreaterThanOrEqual(3);
    expect(world.read(DOCS)).toHaveLength(1);
    const missed = await world.until(() => slack.messages(DOCS)[1]);
    expect(clock.now() - since).toBeGreaterThanOrEqual(3 * MINUTE_MS);
    expect(slack.visibleText(missed)).toContain("❓");
    expect(slack.visibleText(missed)).not.toContain("[Keep watching]");
    expect(creates(world)).toHaveLength(1);
  });

  it("in answers that other ones come between, is watched on", async () => {
    await using world = await World.start();
    const { slack, service } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => service.gets.length === 1);
    for (let round = 0; round < 5; round += 1) {
      service.faults.add({ op: "get", times: 2, fault: { kind: "status", status: 404 } });
      const seen = service.gets.length;
      await world.until(() => service.gets.length > seen, HOUR_MS);
    }
    expect(world.read(DOCS)).toHaveLength(1);
  });
});
