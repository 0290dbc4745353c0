import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { vi } from "vitest";
import { openRedisClient } from "./redis.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";

/** Settings of a primary whose standbys follow it at once. */
export const PRIMARY = { "repl-diskless-sync-delay": "0" };

/** Starts a Redis that follows the one at a port of this machine. Resolves once it does. */
export async function startStandby(
  port: number,
  settings: Record<string, string> = {},
  password = "",
): Promise<RedisServer> {
  const standby = await startRedisServer({ ...PRIMARY, ...settings, replicaof: `127.0.0.1 ${port}` });
  await untilFollowing({ url: standby.url.replace("//", `//:${password}@`) });
  return standby;
}

/** Resolves once a standby has all that its primary had. */
export async function untilFollowing({ url }: { url: string }): Promise<void> {
  const client = await openRedisClient(url);
  await vi.waitFor(
    async () => {
      if (!(await client.info("replication")).includes("master_link_status:up")) throw new Error("not yet");
    },
    { timeout: 30_000, interval: 20 },
  );
  client.destroy();
}

export function portOf({ url }: { url: string }): number {
  return Number(new URL(url).port);
}

/** A way to a port of this machine that can be cut, or lead elsewhere for new connections. */
export type Line = AsyncDisposable & {
  readonly port: number;
  readonly url: string;
  /** Ends all connections, and refuses new ones until it leads somewhere again. */
  cut(): void;
  leadTo(port: number): void;
};

export async function startLine(target: number): Promise<Line> {
  let to: number | null = target;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (to === null) return void socket.destroy();
    const other = connect(to, "127.0.0.1");
    for (const end of [socket, other]) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        sockets.delete(end);
        socket.destroy();
        other.destroy();
      });
    }
    socket.pipe(other).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  function cut(): void {
    to = null;
    for (const socket of sockets) socket.destroy();
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    cut,
    leadTo(next) {
      cut();
      to = next;
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
