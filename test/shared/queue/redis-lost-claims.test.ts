// @module-tag all
// @module-tag redis-server
import { afterEach, expect, it, vi } from "vitest";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { RedisConnection } from "../../../src/shared/store/redis/redis-connection.ts";
import { StoreAnswerLostError } from "../../../src/shared/store/store-errors.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

const clock = createSystemClock();

afterEach(() => {
  vi.restoreAllMocks();
});

it("counts no death for a claim whose answer was lost", async () => {
  await using server = await startRedisServer();
  const logger = new RecordingLogger();
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: server.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const pools = { of: () => "all", budgets: { all: 2 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  await queue.add({ id: "a", type: "test", payload: null });
  const run = store.redis.run.bind(store.redis);
  let lost = 0;
  vi.spyOn(RedisConnection.prototype, "run").mockImplementation(async (script, args) => {
    const answer = await run(script, args);
    if (!JSON.stringify(answer).includes('["a","all"') || lost === 3) return answer;
    lost += 1;
    throw new StoreAnswerLostError(server.url, "no answer", "");
  });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  await handler.started("a");
  await queue.stop(1_000);
  expect(lost).toBe(3);
  expect(handler.runs).toMatchObject([{ attempt: 1, unexpectedFailures: 0, deaths: 0 }]);
});
