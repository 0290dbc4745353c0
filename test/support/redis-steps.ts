import { createHash } from "node:crypto";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { once } from "node:events";
import type { RedisClientType } from "@redis/client";
import * as queueScripts from "../../src/shared/queue/redis/task-script.ts";

/**
 * A write at Redis: about to happen, or done with the answer still on its way. `number` counts the
 * steps of this name and phase.
 */
export type RedisStep = { phase: "before" | "after"; what: string; number: number };

/** A proxy before Redis that watches every write. */
export type RedisSteps = AsyncDisposable & {
  /** The address, in the form of a STORE_URL. */
  url: string;
  /** All writes so far. */
  readonly steps: readonly RedisStep[];
};

/**
 * Starts a proxy before the Redis at `target`. It lets one command through at a time, and calls
 * `stopAt` before and after each command that writes something. If that resolves to true, the
 * command or its answer stays there, and so does everything after it: all connections end, and new
 * ones aren't served. `admin` is a client of that Redis.
 */
export async function startRedisSteps(
  target: string,
  admin: RedisClientType,
  stopAt: (step: RedisStep) => Promise<boolean>,
): Promise<RedisSteps> {
  const { hostname, port } = new URL(target);
  const steps: RedisStep[] = [];
  const counts = new Map<string, number>();
  const scripts: Scripts = new Map();
  const sockets = new Set<Socket>();
  let isOver = false;
  let turn: Promise<unknown> = Promise.resolve();

  function next(phase: RedisStep["phase"], what: string): RedisStep {
    const key = `${phase} ${what}`;
    const number = (counts.get(key) ?? 0) + 1;
    counts.set(key, number);
    return { phase, what, number };
  }

  async function isStop(step: RedisStep): Promise<boolean> {
    if (!isOver && !(await stopAt(step))) return false;
    isOver = true;
    for (const socket of sockets) socket.destroy();
    return true;
  }

  /** Resolves to the answer, or to null if it stops here. */
  async function watched(what: string, ask: () => Promise<Buffer>): Promise<Buffer | null> {
    const before = next("before", what);
    if (await isStop(before)) return null;
    const changes = await changesOf(admin);
    const answer = await ask();
    if ((await changesOf(admin)) === changes) return answer;
    const after = next("after", what);
    steps.push(before, after);
    return (await isStop(after)) ? null : answer;
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  }

  async function serve(client: Socket): Promise<void> {
    const redis = connect(Number(port), hostname);
    const waiting: Array<PromiseWithResolvers<Buffer>> = [];
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
        for (const { reject } of waiting) reject(new Error("the connection has ended"));
      });
    }
    if (isOver) {
      client.pipe(redis).pipe(client);
      return;
    }
    void (async () => {
      for await (const answer of valuesOf(redis)) waiting.shift()?.resolve(answer);
    })().catch(() => {});
    for await (const command of valuesOf(client)) {
      const ask = (): Promise<Buffer> => {
        const answer = Promise.withResolvers<Buffer>();
        waiting.push(answer);
        redis.write(command);
        return answer.promise;
      };
      const what = nameOfCommand(command, scripts);
      const answer = await inTurn(() => (what === null ? ask() : watched(what, ask)));
      if (answer === null) return;
      client.write(answer);
    }
  }

  const server = createServer((client) => {
    serve(client).catch(() => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    steps,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Resolves to the number of changes that Redis has made so far. */
async function changesOf(admin: RedisClientType): Promise<number> {
  return Number(/rdb_changes_since_last_save:(\d+)/.exec(await admin.info("persistence"))?.[1]);
}

/** These commands write nothing, or only at a start, which then fails as a whole. */
const READS = /^(?:M?GET|SUBSCRIBE|INFO|CONFIG|PING|CLIENT|SCAN|TYPE|schema)$/;

/** The names of scripts, by their SHA-1. */
type Scripts = Map<string, string>;

/** Names a command, or for a script its work. Returns null if it writes nothing. */
function nameOfCommand(command: Buffer, scripts: Scripts): string | null {
  const text = command.toString();
  const [, , word = "", , first = ""] = text.split("\r\n", 6);
  const name = word.toUpperCase();
  const isScript = name === "EVAL" || name === "EVALSHA";
  if (name === "EVAL") scripts.set(createHash("sha1").update(first).digest("hex"), nameOf(first));
  // Redis may not know the script of a digest yet. Then the command does nothing.
  const script = name === "EVAL" ? nameOf(first) : scripts.get(first);
  const what = isScript ? script : name;
  if (what === undefined || READS.test(what)) return null;
  return what === "WORK" ? `${what}: ${workIn(text)}` : what;
}

/** Names the different kinds of work in one call of the script. Each call also claims. */
function workIn(command: string): string {
  const kinds = [...command.matchAll(/^(commit|renew|release)\r$/gm)].map(([, kind]) => kind);
  return kinds.length === 0 ? "claim" : [...new Set(kinds)].toSorted().join(", ");
}

function nameOf(script: string): string {
  const own = Object.entries(queueScripts).find(([, text]) => text === script)?.[0];
  if (own !== undefined) return own;
  if (script.includes("':slot:'")) return "slot";
  if (script.includes("':schema'")) return "schema";
  return "another script";
}

/** Yields each whole value that arrives, in Redis's protocol (version 2). */
export async function* valuesOf(socket: Socket): AsyncGenerator<Buffer> {
  let data: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    data = Buffer.concat([data, chunk as Buffer]);
    for (let end = endOf(data, 0); end !== -1; end = endOf(data, 0)) {
      yield data.subarray(0, end);
      data = data.subarray(end);
    }
  }
}

/** Returns the end of the value that begins at `start`, or -1 if a part of it is still missing. */
function endOf(data: Buffer, start: number): number {
  const line = data.indexOf("\r\n", start);
  if (line === -1) return -1;
  const size = Number(data.toString("latin1", start + 1, line));
  let end = line + 2;
  switch (data.toString("latin1", start, start + 1)) {
    case "$":
      if (size >= 0) end += size + 2;
      return end <= data.length ? end : -1;
    case "*":
      for (let n = 0; n < size && end !== -1; n += 1) end = endOf(data, end);
      return end;
    default:
      return end;
  }
}
