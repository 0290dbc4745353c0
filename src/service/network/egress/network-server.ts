import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { codeOrNameOf, DocsAgentError } from "../../../shared/errors.ts";
import { limitPipelining } from "../../../shared/machine/listen.ts";
import type { ModelGateway } from "../gateway/model-gateway.ts";
import { MAX_SOCKET_PATH_BYTES, type NetworkLimits, type TurnLogger } from "../limits.ts";
import type { EgressProxy } from "./egress-proxy.ts";

type ServerDeps = {
  gateway: ModelGateway;
  proxy: EgressProxy;
  limits: NetworkLimits;
  logger: TurnLogger;
  /** When this aborts, every connection ends. */
  signal: AbortSignal;
};

/** The network of a turn couldn't be opened. */
export class TurnNetworkError extends DocsAgentError {
  readonly code = "turn_network";
}

export const LOOPBACK = "127.0.0.1";
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 5 * 60_000;

/** Takes the agent's connections, and hands each request to the gateway or to the proxy. */
export class NetworkServer {
  readonly #server: Server;
  readonly #deps: ServerDeps;
  /** The calls of models that are under way. */
  readonly #calls = new Set<Promise<unknown>>();

  constructor(deps: ServerDeps) {
    const { proxy, limits, logger, signal } = deps;
    this.#deps = deps;
    this.#server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
    });
    this.#server.maxConnections = limits.connections;
    endSocketsOf(this.#server, signal);
    this.#server.on("request", limitPipelining(this.#onRequest));
    this.#server.on("connect", (request, client, head) => {
      proxy.tunnel(request, client, head).catch(() => client.destroy());
    });
    this.#server.on("drop", () => logger.warn({ max: limits.connections }, "agent has too many connections"));
  }

  /** Resolves to the port, or null if it listens at the path. */
  async listen(path: string | null): Promise<number | null> {
    if (path !== null && Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
      throw new TurnNetworkError(
        `The path of the agent's socket is longer than ${MAX_SOCKET_PATH_BYTES} bytes. Move dataDir ` +
          "to a shorter path.",
      );
    }
    try {
      // Removes a socket that a killed process left.
      if (path !== null) await rm(path, { force: true });
      this.#server.listen(path === null ? { host: LOOPBACK, port: 0 } : { path });
      await once(this.#server, "listening");
      if (path !== null) await chmod(path, 0o600);
    } catch (thrown) {
      throw new TurnNetworkError(`The agent's network can't be opened (${codeOrNameOf(thrown)}).`, {
        cause: thrown,
      });
    }
    const address = this.#server.address();
    return address === null || typeof address === "string" ? null : address.port;
  }

  /** Takes no more connections. Resolves when the last one has ended. */
  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Resolves when no call of a model is under way anymore. */
  async callsEnded(): Promise<void> {
    await Promise.all(this.#calls);
  }

  // If a handler throws, its connection ends. Otherwise nobody would catch the error, and the
  // process would end.
  readonly #onRequest: RequestListener = (request, response) => {
    const { gateway, proxy } = this.#deps;
    const isForGateway = request.url?.startsWith("/") === true;
    const handled = (isForGateway ? gateway.answer(request, response) : proxy.forward(request, response))
      .catch(() => response.destroy())
      .finally(() => this.#calls.delete(handled));
    if (isForGateway) this.#calls.add(handled);
  };
}

function endSocketsOf(server: Server, signal: AbortSignal): void {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  signal.addEventListener("abort", () => {
    for (const socket of sockets) socket.destroy();
  });
}
