// @module-tag redis-server
import { createClient, type RedisClientType } from "@redis/client";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { RedisLink } from "../../../src/shared/store/redis/redis-link.ts";
import { PATIENT } from "../../support/patient.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { openRedisClient } from "../../support/redis.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it.each(["close", "renew"] as const)(
  "leaves no connection of a client that was connecting at a %s",
  async (how) => {
    const name = `link-${how}`;
    const made: RedisClientType[] = [];
    const link = new RedisLink({
      makeClient: () => {
        const client: RedisClientType = createClient({ url: server.url, name, disableOfflineQueue: true });
        made.push(client);
        return client;
      },
      onReady() {},
      onError() {},
    });
    const connecting = link.connect().catch(() => {});
    link[how]();
    await connecting;
    const looker = await openRedisClient(server.url);
    const connected = async () => (await looker.clientList()).filter((each) => each.name === name).length;
    const wanted = how === "renew" ? 1 : 0;
    if (how === "renew") await vi.waitUntil(() => made[1]?.isReady, PATIENT);
    expect(made[0]?.isReady).toBe(false);
    await vi.waitUntil(async () => (await connected()) === wanted, PATIENT);
    link.close();
    await vi.waitUntil(async () => (await connected()) === 0, PATIENT);
    looker.destroy();
  },
);
