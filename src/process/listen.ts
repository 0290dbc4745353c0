import { createServer, type Server } from "node:http";
import { codeOf } from "../core/errors.ts";
import { StartError } from "./start-error.ts";

/** Servers that listen at one address. */
export type Listening = AsyncDisposable & {
  /** `http://host:port` */
  url: string;
  /** Takes no new request and waits, for a bounded time, for those under way. Idempotent. */
  close(): Promise<void>;
};

type ListenOptions = {
  host: string;
  /** 0: any free one. */
  port: number;
  /** What to do if it cannot listen there. */
  remedy: string;
  /** How long {@link Listening.close} waits for requests under way. */
  graceMs: number;
  /**
   * How many listening sockets share the port. libuv accepts one connection per turn of the event
   * loop from each, so a flood of new connections waits behind the work of as many turns. One where
   * the platform cannot share a port.
   * @default 1
   */
  sockets?: number;
  /** Open connections beyond this many, over all sockets, are closed at once. @default no limit */
  maxConnections?: number;
};

/**
 * Listens with what `makeServer` makes. Rejects with a {@link StartError}, and holds nothing then,
 * when it cannot.
 */
export async function listenWith(makeServer: () => Server, options: ListenOptions): Promise<Listening> {
  const servers: Server[] = [];
  let closed: Promise<void> | null = null;
  const close = () => (closed ??= closeAll(servers, options.graceMs));
  try {
    const { sockets = 1 } = options;
    if (sockets === 1 || !(await canShare(options))) {
      servers.push(await listenOnce(makeServer(), { ...options, reusePort: false }));
    } else {
      servers.push(await listenOnce(makeServer(), { ...options, reusePort: true }));
      const port = addressOf(servers)?.port ?? options.port;
      for (let n = 1; n < sockets; n += 1) {
        servers.push(await listenOnce(makeServer(), { ...options, port, reusePort: true }));
      }
    }
  } catch (thrown) {
    await close();
    const reason = codeOf(thrown) ?? String(thrown);
    throw new StartError(
      `Cannot listen on ${options.host} port ${options.port} (${reason}). ${options.remedy}`,
    );
  }
  limitConnections(servers, options.maxConnections);
  return { url: urlOf(servers), close, [Symbol.asyncDispose]: close };
}

/**
 * Whether the platform lets sockets share a port. Rejects if somebody else listens on this one: a
 * program that shares its ports, too, would otherwise be given half of our connections, and we half
 * of its.
 */
async function canShare({ host, port }: ListenOptions): Promise<boolean> {
  if (port !== 0) await closeAll([await listenOnce(createServer(), { host, port, reusePort: false })], 0);
  try {
    await closeAll([await listenOnce(createServer(), { host, port: 0, reusePort: true })], 0);
    return true;
  } catch {
    return false;
  }
}

function listenOnce(
  server: Server,
  { host, port, reusePort }: { host: string; port: number; reusePort: boolean },
): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, reusePort }, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}

function limitConnections(servers: Server[], maxConnections = Infinity): void {
  let open = 0;
  for (const server of servers) {
    server.on("connection", (socket) => {
      if (open >= maxConnections) {
        socket.destroy();
        return;
      }
      open += 1;
      socket.once("close", () => {
        open -= 1;
      });
    });
  }
}

function addressOf([server]: Server[]) {
  const address = server?.address() ?? null;
  return typeof address === "string" ? null : address;
}

function urlOf(servers: Server[]): string {
  const address = addressOf(servers);
  if (address === null) return "";
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

async function closeAll(servers: Server[], graceMs: number): Promise<void> {
  await Promise.all(
    servers.map(
      (server) =>
        new Promise<void>((resolve) => {
          const timer = setTimeout(() => server.closeAllConnections(), graceMs);
          server.close(() => {
            clearTimeout(timer);
            resolve();
          });
          server.closeIdleConnections();
        }),
    ),
  );
}
