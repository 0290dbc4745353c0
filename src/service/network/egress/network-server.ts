import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { codeOrNameOf, DocsAgentError } from "../../../shared/errors.ts";
import { limitPipelining, listenAtPath } from "../../../shared/machine/listen.ts";
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
    const onRequest = limitPipelining(this.#onRequest);
    this.#server.on("request", onRequest).on("checkContinue", onRequest);
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
      if (path !== null) await listenAtPath(this.#server, path);
      else {
        this.#server.listen({ host: LOOPBACK, port: 0 });
        await once(this.#server, "listening");
      }
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

  // If a handler throws, its connection ends. Otherwise nobody would catch the error, and the
  // process would end.
  readonly #onRequest: RequestListener = (request, response) => {
    const { gateway, proxy } = this.#deps;
    const isForGateway = request.url?.startsWith("/") === true;
    // The gateway says itself when it wants the body.
    if (!isForGateway && request.headers.expect !== undefined) response.writeContinue();
    const handled = isForGateway ? gateway.answer(request, response) : proxy.forward(request, response);
    handled.catch(() => response.destroy());
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
