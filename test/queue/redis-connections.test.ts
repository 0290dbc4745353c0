import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, expect, it, vi } from "vitest";
import { BullPools } from "../../src/queue/redis/bull-pools.ts";
import { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../src/system-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { openRedisClient, redisPrefix } from "../support/redis.ts";
import { ScriptedHandler } from "../support/scripted-handler.ts";

const clock = createSystemClock();
const server = await startRedisServer();
afterAll(() => server[Symbol.asyncDispose]());

/** A queue at work on the Redis at `url`. */
async function startQueue(url: string) {
  const logger = new RecordingLogger();
  const store = await openRedisStore({ url, clock, logger, keepSetAsideMs: 60_000 });
  const queue = new RedisTaskQueue({
    store,
    clock,
    logger,
    pools: { of: () => "rest", budgets: { rest: 2 } },
    keepDeadMs: 60_000,
    leaseMs: 2_000,
    lookForStalledEveryMs: 500,
  });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  return { store, queue, handler };
}

/** A way to Redis on which one connection is cut, once, when it sends something for the `chunk`th time. */
async function cutOnce(url: string, cut: { connection: number; chunk: number }) {
  const { port } = new URL(url);
  let connections = 0;
  let cuts = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket);
    connections += 1;
    const number = connections;
    let chunks = 0;
    const redis = connect(Number(port), "127.0.0.1");
    for (const [from, to] of [
      [socket, redis],
      [redis, socket],
    ] as const) {
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    }
    redis.pipe(socket);
    socket.on("data", (data) => {
      chunks += 1;
      if (number === cut.connection && chunks === cut.chunk) {
        cuts += 1;
        socket.resetAndDestroy();
      } else redis.write(data);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await once(proxy, "close");
    },
  };
}

it("goes on at the new primary after a failover that leaves its connections at the old one", async () => {
  await using resources = new AsyncDisposableStack();
  const servers = [resources.use(await startRedisServer()), resources.use(await startRedisServer())] as const;
  const ports = servers.map(({ url }) => Number(new URL(url).port));
  const [old, next] = await Promise.all(servers.map(({ url }) => openRedisClient(url)));
  const replicate = (client = old, from: string[]) => client?.sendCommand(["REPLICAOF", ...from]);
  let target = ports[0] ?? 0;
  const sockets = new Set<Socket>();
  const address = createServer((socket) => {
    const redis = connect(target, "127.0.0.1");
    for (const end of [socket, redis]) sockets.add(end.on("error", () => {}));
    socket.pipe(redis).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(address, "listening");
  resources.defer(() => {
    address.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = `redis://127.0.0.1:${(address.address() as AddressInfo).port}`;
  const { store, queue, handler } = await startQueue(url);
  resources.use(store);
  const add = (id: string) =>
    vi.waitFor(() => queue.add({ id, type: "any", payload: null }), { timeout: 20_000, interval: 100 });
  await add("first");
  await handler.started("first");

  await replicate(next, ["127.0.0.1", String(ports[0])]);
  await vi.waitFor(async () => expect(await next?.info("replication")).toContain("master_link_status:up"), {
    timeout: 20_000,
    interval: 50,
  });
  await replicate(next, ["NO", "ONE"]);
  await replicate(old, ["127.0.0.1", String(ports[1])]);
  target = ports[1] ?? 0;
  await add("second");
  await handler.started("second");
  await queue.stop(1_000);
  await Promise.all([old?.close(), next?.close()]);
});

// The first connection is the one that all share; after it has opened the store (6 times), BullMQ makes one more for each pool.
const cuts = [7, 8, 9, 10]
  .map((chunk) => ({ connection: 1, chunk }))
  .concat([1, 2, 3, 4].map((chunk) => ({ connection: 2, chunk })));

it.concurrent.each(cuts)(
  "runs what was added although connection $connection is cut at its message $chunk",
  async (cut) => {
    await using way = await cutOnce(server.url, cut);
    const redis = redisPrefix(server.url);
    const { store, queue, handler } = await startQueue(way.url + new URL(redis.url).search);
    await using _store = store;
    for (const id of ["first", "second", "third"]) {
      // Whoever asks while Redis is away is told so, and asks again.
      await vi.waitFor(() => queue.add({ id, type: "any", payload: null }), { timeout: 10_000 });
      await handler.started(id);
    }
    await queue.stop(1_000);
    expect(way.cuts()).toBe(1);
  },
);

it("keeps at Redis none of BullMQ's events, to which nobody listens, but the last ones", async () => {
  const redis = redisPrefix(server.url);
  const logger = new RecordingLogger();
  await using store = await openRedisStore({ url: redis.url, clock, logger, keepSetAsideMs: 60_000 });
  const pools = { of: () => "rest", budgets: { rest: 20 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  // Each has several events.
  const ids = Array.from({ length: 200 }, (_, n) => `task-${n}`);
  await queue.add({ id: "first", type: "any", payload: null });
  await handler.started("first");
  await Promise.all(ids.map((id) => queue.add({ id, type: "any", payload: null })));
  await Promise.all(ids.map((id) => handler.started(id)));
  await queue.stop(1_000);
  const key = `${redis.prefix}:q:${BullPools.queueName("rest")}:events`;
  // Redis removes them a hundred at a time.
  expect(await store.redis.client.xLen(key)).toBeLessThan(250);
});

it("goes on when the connection is cut before BullMQ was asked for anything", async () => {
  await using way = await cutOnce(server.url, { connection: 1, chunk: 7 });
  const logger = new RecordingLogger();
  await using store = await openRedisStore({ url: way.url, clock, logger, keepSetAsideMs: 60_000 });
  const pools = { of: () => "rest", budgets: { rest: 2 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  while (way.cuts() === 0) await queue.check().catch(() => {});
  const isThere = () =>
    queue.check().then(
      () => true,
      () => false,
    );
  await expect.poll(isThere, { timeout: 10_000 }).toBe(true);
  await queue.stop(0);
});
