import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { valuesOf } from "./redis-steps.ts";

/** What a Redis 7.2 would look like from outside, as far as standbys are concerned. */
export type NewerRedis = AsyncDisposable & {
  url: string;
  /** Every `WAITAOF` that arrived, as typed. */
  readonly asked: readonly string[];
};

/**
 * Stands before an older Redis at a port of this machine. It gives its version as 7.2, and carries
 * out `WAITAOF` as `WAIT`, without regard for disks.
 */
export async function startNewerRedis(target: number): Promise<NewerRedis> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();

  async function serve(client: Socket): Promise<void> {
    const redis = connect(target, "127.0.0.1");
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        redis.destroy();
      });
    }
    /** Whether each command without an answer is a `WAITAOF`. */
    const waiting: boolean[] = [];
    void (async () => {
      for await (const answer of valuesOf(redis)) {
        client.write(waiting.shift() === true ? `*2\r\n:0\r\n${String(answer)}` : asNewer(answer));
      }
    })().catch(() => {});
    for await (const command of valuesOf(client)) {
      const words = String(command)
        .split("\r\n")
        .filter((_, n) => n > 0 && n % 2 === 0);
      const isWait = words[0] === "WAITAOF";
      waiting.push(isWait);
      if (isWait) asked.push(words.join(" "));
      redis.write(isWait ? commandOf(["WAIT", ...words.slice(2)]) : command);
    }
  }

  const server = createServer((client) => {
    serve(client).catch(() => client.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function commandOf(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

/** The same length, so the answer stays whole. */
function asNewer(answer: Buffer): Buffer {
  const text = answer.toString("latin1").replace(/redis_version:\d\.\d/, "redis_version:7.2");
  return Buffer.from(text, "latin1");
}
