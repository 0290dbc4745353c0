// @module-tag all
// @module-tag redis-server
import type { RedisClientType } from "@redis/client";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRedisClient } from "../../support/redis.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { openRedisSubject } from "../../support/redis-task-queue.ts";
import { untilIdleInTime } from "../../support/redis-time.ts";
import { command, faultsAfter } from "../../support/task-queue-commands.ts";

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

describe("Redis task queue, whatever happens", () => {
  it(
    "does what it acknowledged, all of it or nothing, ends each task once, and lets none wait",
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 60, size: "max" }), async (commands) => {
          await using subject = await openRedisSubject(server.url, admin, untilIdleInTime);
          expect(await faultsAfter(subject, commands)).toEqual([]);
        }),
        { numRuns: 15 },
      );
    },
  );
});
