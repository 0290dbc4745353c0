import { expect, it } from "vitest";
import { RedisWork } from "../../src/queue/redis/redis-work.ts";
import { RedisConnection } from "../../src/store/redis/redis-connection.ts";
import { StoreUnavailableError } from "../../src/store/store-errors.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { startRedisServer } from "../support/redis-server.ts";

function addOf(id: string) {
  const add = { id, type: "note", pool: "rest", known: "once", payload: "null", due: 0 };
  return { kind: "commit" as const, keepDoneMs: 1000, checks: [], within: [], writes: [], adds: [add] };
}

it("does all that is asked at once, each with its own answer, and fails only what meets a fault", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = new RedisWork(redis, () => "");
  await redis.client.set(`${redis.prefix}:task:broken`, "no task");

  const asked = Array.from({ length: 120 }, (_, n) => work.ask(addOf(n === 60 ? "broken" : `task-${n}`)));
  const answers = await Promise.allSettled(asked);

  const failed = answers.flatMap((answer, n) => (answer.status === "rejected" ? [[n, answer.reason]] : []));
  expect(failed).toEqual([[60, expect.any(StoreUnavailableError)]]);
  expect(String(failed[0]?.[1])).toContain("WRONGTYPE");
  const told = answers.flatMap((answer) =>
    answer.status === "fulfilled" ? [(answer.value as [string, string, string[]])[2][0]] : [],
  );
  expect(told).toEqual(Array.from({ length: 120 }, (_, n) => `task-${n}`).filter((id) => id !== "task-60"));
});

it("fails only what Redis can't read", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = new RedisWork(redis, () => "");
  // Half a character.
  const answers = await Promise.allSettled(["first", "\ud83d", "last"].map((id) => work.ask(addOf(id))));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

it("fails all that is asked when Redis is away", async () => {
  await using server = await startRedisServer();
  await using redis = await RedisConnection.open(server.url, new RecordingLogger());
  const work = new RedisWork(redis, () => "");
  redis.client.destroy();
  const answers = await Promise.allSettled([work.ask(addOf("one")), work.ask(addOf("two"))]);
  expect(answers).toEqual(
    Array.from({ length: 2 }, () => ({ status: "rejected", reason: expect.any(StoreUnavailableError) })),
  );
});
