// @module-tag all
// @module-tag redis-server
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { openRedisClient, redisPrefix } from "../../support/redis.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import { PATIENT } from "../../support/patient.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

const clock = createSystemClock();
let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A queue at work on the Redis at `url`. */
async function startQueue(url: string) {
  const logger = new RecordingLogger();
  const store = await openRedisStore<AppRecords>({
    schemas: recordSchemas,
    url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const queue = new RedisTaskQueue({
    store,
    clock,
    logger,
    pools: { of: () => "rest", budgets: { rest: 2 } },
    keepDeadMs: 60_000,
    leaseMs: 2_000,
  });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  return { store, queue, handler, logger };
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

// The first connection is for all that is asked, and has opened the store by its eleventh message. The second hears what is due.
const cuts = [12, 13, 14, 15]
  .map((chunk) => ({ connection: 1, chunk }))
  .concat([1, 2].map((chunk) => ({ connection: 2, chunk })));

it.concurrent.each(cuts)(
  "runs what was added although connection $connection is cut at its message $chunk",
  async (cut) => {
    await using way = await cutOnce(server.url, cut);
    const redis = redisPrefix(server.url);
    const { store, queue, handler } = await startQueue(way.url + new URL(redis.url).search);
    await using _store = store;
    // On a busy machine, several messages come as one.
    for (let n = 1; n <= 3 || (way.cuts() === 0 && n <= 20); n += 1) {
      const id = `task ${n}`;
      // Whoever asks while Redis is away is told so, and asks again.
      await vi.waitFor(() => queue.add({ id, type: "any", payload: null }), { timeout: 10_000 });
      await handler.started(id);
    }
    await queue.stop(1_000);
    expect(way.cuts()).toBe(1);
  },
);

it("takes two connections, and three commands a second at most when nothing is to do, however many job services there are", async () => {
  const redis = redisPrefix(server.url);
  const logger = new RecordingLogger();
  const admin = await openRedisClient(server.url);
  const connections = async () =>
    (await admin.clientList()).filter(({ name }) => name === redis.prefix).length;
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info("stats"))?.[1]);
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: redis.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const pools = { of: () => "rest", budgets: { rest: 20 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  const dueAt = clock.now() + 60 * 60_000;
  const services = Array.from({ length: 30 }, (_, n) => ({
    id: `task-${n}`,
    type: "any",
    partition: `service ${n}`,
  }));
  await Promise.all(services.map((task) => queue.add({ ...task, payload: null })));
  await Promise.all(services.map(({ id }) => handler.started(id)));
  await Promise.all(
    services.map((task) => queue.add({ ...task, id: `${task.id} later`, payload: null, dueAt })),
  );
  expect(await connections()).toBe(2);
  const [before, startedAtMs] = [await commands(), clock.monotonicMs()];
  await sleep(6_000);
  const perSecond = ((await commands()) - before) / ((clock.monotonicMs() - startedAtMs) / 1000);
  expect(perSecond).toBeLessThanOrEqual(3);
  await queue.stop(0);
  admin.destroy();
});

it("says so, and isn't well, where Redis lets it take tasks and not look for what is due", async () => {
  await using own = await startRedisServer();
  const admin = await openRedisClient(own.url);
  const rights = ["~*", "&*", "+@all", "-zrange"];
  await admin.sendCommand(["ACL", "SETUSER", "app", "on", ">pw", ...rights]);
  const { store, queue, logger } = await startQueue(own.url.replace("redis://", "redis://app:pw@"));
  await using _store = store;
  expect(await queue.add({ id: "a", type: "any", payload: null })).toBe(true);
  await expect(queue.check()).rejects.toThrow("can't run this command");
  const errors = () => logger.lines.filter(({ level }) => level === "error");
  await vi.waitFor(() => expect(errors()).toHaveLength(1), PATIENT);
  expect(errors()[0]?.message).toContain("cannot look for what is due");
  await admin.sendCommand(["ACL", "SETUSER", "app", "+zrange"]);
  await vi.waitFor(() => queue.check(), { timeout: 10_000 });
  await queue.stop(0);
  admin.destroy();
});

it("asks on a new connection after one answer was late", async () => {
  const { port } = new URL(server.url);
  const halfOpen = new Set<Socket>();
  let isSilent = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const redis = connect(Number(port), "127.0.0.1");
    for (const end of [socket, redis]) sockets.add(end.on("error", () => {}));
    socket.on("close", () => redis.destroy());
    socket.pipe(redis);
    redis.on("data", (data) => {
      if (isSilent && halfOpen.size === 0) halfOpen.add(socket);
      if (!halfOpen.has(socket)) socket.write(data);
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const logger = new RecordingLogger();
  const url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const store = await openRedisStore<AppRecords>({
    schemas: recordSchemas,
    url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const startedAtMs = clock.monotonicMs();
  isSilent = true;
  await expect(store.check()).rejects.toMatchObject({ code: "store_answer_lost" });
  await vi.waitFor(() => store.check(), { timeout: 4_000, interval: 20 });
  expect(clock.monotonicMs() - startedAtMs).toBeLessThan(5_000);
  await store.close();
  proxy.close();
  for (const socket of sockets) socket.destroy();
});

it("goes on when the connection is cut before anything was asked of the queue", async () => {
  await using way = await cutOnce(server.url, { connection: 1, chunk: 7 });
  const logger = new RecordingLogger();
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: way.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
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
