// @module-tag redis-server
import type { RedisClientType } from "@redis/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeTaskQueue } from "../../contracts/task-queue.ts";
import { openRedisClient } from "../../support/redis.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import { LEASE_MS, openRedisSubject } from "../../support/redis-task-queue.ts";

let server: RedisServer;
let admin: RedisClientType;
beforeAll(async () => {
  server = await startRedisServer();
  admin = await openRedisClient(server.url);
});
afterAll(async () => {
  admin.destroy();
  await server[Symbol.asyncDispose]();
});

describeTaskQueue("Redis", () => openRedisSubject(server.url, admin));

it("Redis: a run is sure of its task for half a lease after it last heard so", async () => {
  await using subject = await openRedisSubject(server.url, admin);
  const seen: boolean[] = [];
  await subject.queue.add({ id: "a", type: "test", payload: null });
  subject.queue.start(async (_, run) => {
    const note = (): void => {
      try {
        run.assertHeld();
        seen.push(true);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "claim_lost" });
        seen.push(false);
      }
    };
    note();
    subject.advance(LEASE_MS / 2);
    note();
    subject.advance(1);
    note();
    await run.commit(() => ({ value: null }));
    note();
    return { kind: "done" };
  });
  await expect.poll(() => subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  expect(seen).toEqual([true, true, false, true]);
});

it("Redis: a task was added as long ago on every machine, whatever its clock shows", async () => {
  await using subject = await openRedisSubject(server.url, admin);
  const handler = new ScriptedHandler();
  await subject.queue.add({ id: "a", type: "test", payload: null });
  subject.setClock(-600_000);
  subject.advance(1_000);
  subject.queue.start(handler.handle);
  await subject.idle();
  expect(handler.runs).toMatchObject([{ addedAt: subject.now() - 1_000 }]);
});

it("Redis: a series is gone when nothing was added to it for as long as its entries are kept", async () => {
  await using subject = await openRedisSubject(server.url, admin);
  const append = { series: "gone", entry: "1", keep: 9, ttlMs: 60_000 };
  await subject.queue.commit(() => ({ appends: [append], value: null }));
  const [key = "", ...others] = await admin.keys("*:series:gone");
  expect(others).toEqual([]);
  const leftMs = await admin.pTTL(key);
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(60_000);
});
