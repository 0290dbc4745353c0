import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { codeOf, StartError } from "../errors.ts";

export type Listening = AsyncDisposable & {
  /** `http://host:port` */
  url: string;
  /** Accepts no new requests and waits, for a bounded time, for those in progress. Idempotent. */
  close(): Promise<void>;
};

type ListenOptions = {
  host: string;
  /** 0 means any free port. */
  port: number;
  /** What the operator can do if it can't listen there. */
  remedy: string;
  /** How long {@link Listening.close} waits for requests in progress. */
  graceMs: number;
  /**
   * How many listening sockets share the port. libuv accepts one connection per socket and turn of
   * the event loop, so in a flood, new connections wait for as many turns. Only one is used if the
   * platform can't share ports.
   *
   * @default 1
   */
  sockets?: number;
  /**
   * The most open connections over all sockets. Further ones are closed at once. @default no limit
   */
  maxConnections?: number;
};

/**
 * The most requests on a connection before the first is answered. Node.js limits only the bytes of
 * answers that wait, not how many requests do.
 */
const MAX_PIPELINED = 16;

/** Hands requests on, but ends a connection on which too many wait for their answers. */
export function limitPipelining(handle: RequestListener): RequestListener {
  /** The unanswered requests of each connection. */
  const unanswered = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const now = (unanswered.get(socket) ?? 0) + 1;
    if (now > MAX_PIPELINED) return void socket.destroy();
    unanswered.set(socket, now);
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    handle(request, response);
  };
}

/**
 * Listens with servers from `makeServer`. If it can't, rejects with a {@link StartError} and leaves
 * nothing open.
 */
export async function listenWith(makeServer: () => Server, options: ListenOptions): Promise<Listening> {
  const servers: Server[] = [];
  let closed: Promise<void> | null = null;
  const close = () => (closed ??= closeAll(servers, options.graceMs));
  try {
    const { sockets = 1 } = options;
    const reusePort = sockets > 1 && (await canShare(options));
    let { host, port } = options;
    for (let n = 0; n < (reusePort ? sockets : 1); n += 1) {
      servers.push(await listenOnce(makeServer(), { host, port, reusePort }));
      port = addressOf(servers)?.port ?? port;
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
 * Listens at a path that only this user may connect to, in a folder that is this user's alone. What
 * a killed process left there is removed.
 */
export async function listenAtPath(server: Server, path: string): Promise<void> {
  await rm(path, { force: true });
  server.listen({ path });
  await once(server, "listening");
  await chmod(path, 0o600);
}

/**
 * Resolves to true if the platform lets sockets share a port. Rejects if another program listens on
 * this one: if that program shares its ports too, each would get half of the other's connections.
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

async function listenOnce(
  server: Server,
  { host, port, reusePort }: { host: string; port: number; reusePort: boolean },
): Promise<Server> {
  server.listen({ host, port, reusePort });
  await once(server, "listening");
  return server;
}

function limitConnections(servers: Server[], maxConnections = Infinity): void {
  let open = 0;
  for (const server of servers) {
    server.on("connection", (socket) => {
      if (open >= maxConnections) return void socket.destroy();
      open += 1;
      socket.once("close", () => (open -= 1));
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
    servers.map(async (server) => {
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      // Closes idle connections, and waits for the others.
      await server[Symbol.asyncDispose]();
      clearTimeout(timer);
    }),
  );
}

/** So many pieces are never too many. */
const FREE_PIECES = 1000;
/** What comes over a network comes in pieces of a kilobyte and more. */
const MIN_PIECE_BYTES = 64;

/**
 * True if a body comes in so many and so small pieces that they would take far more memory and time
 * than its bytes: each takes hundreds of bytes, however small it is.
 */
export function isInCrumbs(pieces: number, bytes: number): boolean {
  return pieces > FREE_PIECES + bytes / MIN_PIECE_BYTES;
}

/** For people. */
export const CRUMBS = "Send the body in larger pieces.";
