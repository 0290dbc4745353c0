// @module-tag all
// @module-tag redis-server
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { RedisWork } from "../../../src/shared/queue/redis/redis-work.ts";
import { RedisConnection } from "../../../src/shared/store/redis/redis-connection.ts";
import { StoreUnavailableError } from "../../../src/shared/store/store-errors.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startRedisServer } from "../../support/redis-server.ts";

/** Neither claim, records, limits, writes, appends nor an end: only a task. */
function addOf(id: string) {
  const args = ["", "", "0", "0", "0", "0", "", "0", "1", id, "note", "rest", "once", "null", "0"];
  return { kind: "commit" as const, args };
}

function workOn(redis: RedisConnection): RedisWork {
  return new RedisWork({ redis, leaseMs: 1_000, onCall: () => null });
}

it("does all that is asked at once, each with its own answer, and fails only what meets a fault", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = workOn(redis);
  await redis.client.set(`${redis.prefix}:task:broken`, "no task");

  const asked = Array.from({ length: 120 }, (_, n) => work.ask(addOf(n === 60 ? "broken" : `task-${n}`)));
  const answers = await Promise.allSettled(asked);

  const failed = answers.flatMap((answer, n) => (answer.status === "rejected" ? [[n, answer.reason]] : []));
  expect(failed).toEqual([[60, expect.any(StoreUnavailableError)]]);
  expect(String(failed[0]?.[1])).toContain("WRONGTYPE");
  expect(await redis.client.zCard(`${redis.prefix}:due:rest`)).toBe(119);
});

it("makes one call at a time, also for what is asked while a call is put together", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  let calls = 0;
  const work: RedisWork = new RedisWork({
    redis,
    leaseMs: 1_000,
    onCall: () => {
      calls += 1;
      // As leases that are due, until an answer says that they were renewed.
      if (calls <= 1_000) work.ask({ kind: "renew", args: [] }).catch(() => {});
      return null;
    },
  });
  redis.client.destroy();

  await expect(work.ask(addOf("one"))).rejects.toThrow(StoreUnavailableError);
  await setImmediate();
  await work.settled();
  expect(calls).toBe(1);
});

it("goes on after Redis has forgotten its scripts", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = workOn(redis);
  for (const id of ["first", "second"]) {
    expect(await work.ask(addOf(id))).toMatchObject({ answer: ["ok", "1"] });
    await redis.client.scriptFlush();
  }
});

it("fails all that is asked when Redis is away", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = workOn(redis);
  redis.client.destroy();
  const answers = await Promise.allSettled([work.ask(addOf("one")), work.ask(addOf("two"))]);
  expect(answers).toEqual(
    Array.from({ length: 2 }, () => ({ status: "rejected", reason: expect.any(StoreUnavailableError) })),
  );
});
