// @module-tag all
// @module-tag redis-server
import type { RedisClientType } from "@redis/client";
import { afterAll, beforeAll } from "vitest";
import { describeTaskQueue } from "../../contracts/task-queue.ts";
import { openRedisClient } from "../../support/redis.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { PRIMARY, portOf, startStandby } from "../../support/redis-standbys.ts";
import { openRedisSubject } from "../../support/redis-task-queue.ts";

let server: RedisServer;
let standby: RedisServer;
let admin: RedisClientType;
beforeAll(async () => {
  server = await startRedisServer(PRIMARY);
  standby = await startStandby(portOf(server));
  admin = await openRedisClient(server.url);
});
afterAll(async () => {
  admin.destroy();
  await standby[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

describeTaskQueue("Redis with a standby", () => openRedisSubject(server.url, admin, undefined, 1));
