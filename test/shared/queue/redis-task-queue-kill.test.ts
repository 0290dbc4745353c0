// @module-tag all

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { spawnNode } from "../../support/child-process.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { leasesAreOver, liveTasks, openRedisClient } from "../../support/redis.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

const child = fileURLToPath(new URL("../../support/store-child.ts", import.meta.url));
const DURABLE = { appendonly: "yes", appendfsync: "always" };

const PREFIX = "{docs-agent}";
const pools = { of: () => "all", budgets: { all: 2 } };
const clock = createSystemClock();

it.each([
  [2, "the process"],
  [30, "the process"],
  [300, "the process"],
  [30, "Redis"],
  [300, "Redis"],
])("has every task whose add was acknowledged, after %i lines, when %s is killed", async (lines, what) => {
  await using server = await startRedisServer(DURABLE);
  await using killed = spawnNode(child, server.url);
  await killed.wrote(lines);
  if (what === "Redis") await server.restart();
  await killed.kill();
  const acknowledged = killed.lines.slice(1);
  expect(acknowledged.length).toBeGreaterThanOrEqual(lines - 1);

  const admin = await openRedisClient(server.url);
  const isKnown = await Promise.all(
    acknowledged.map((id) => admin.exists([`${PREFIX}:task:${id}`, `${PREFIX}:done:${id}`])),
  );
  expect(acknowledged.filter((_, n) => isKnown[n] !== 1)).toEqual([]);

  const left = await liveTasks(admin, PREFIX);
  await leasesAreOver(admin, PREFIX);
  const logger = new RecordingLogger();
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: server.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  await Promise.all(left.map((id) => handler.started(id)));
  await queue.stop(1_000);
  expect(handler.order().toSorted()).toEqual(left.toSorted());
  expect(await liveTasks(admin, PREFIX)).toEqual([]);
  admin.destroy();
});
