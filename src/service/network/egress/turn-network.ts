import { randomBytes } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { codeOrNameOf, DocsAgentError } from "../../../shared/errors.ts";
import type { Usage } from "../../../shared/contract/turn.ts";
import { createDispatcher } from "../../../shared/machine/dispatcher.ts";
import { limitPipelining } from "../../../shared/machine/listen.ts";
import { DIRECT, type ProxySettings } from "../../../shared/machine/proxy.ts";
import { createEgressProxy } from "./egress-proxy.ts";
import { createResolve, type HostRule, type Resolve } from "./find-route.ts";
import {
  createBoundedLogger,
  MAX_SOCKET_PATH_BYTES,
  NETWORK_LIMITS,
  type NetworkLimits,
  type TurnLogger,
  TurnTraffic,
} from "../limits.ts";
import { KIND_TRAITS, type ModelKind } from "../gateway/model-kinds.ts";
import { createModelGateway, type LeftOut } from "../gateway/model-gateway.ts";
import type { ModelTrouble } from "../gateway/model-trouble.ts";
import { type Budget, TurnBudget, type UsedBefore } from "../gateway/turn-budget.ts";
import type { ModelUpstream } from "../gateway/upstream-client.ts";

/** How the agent reaches one model upstream. */
export type ModelAccess = { name: string; kind: ModelKind; url: string; key: string };

/**
 * The only way out of a turn's sandbox: a proxy with a list of hosts, and the gateway to the
 * models.
 */
export type TurnNetwork = Awaited<ReturnType<typeof openTurnNetwork>>;

export type TurnNetworkOptions = {
  /**
   * The path to listen at, in a folder that nobody else may write to. Null means any free port of
   * 127.0.0.1.
   */
  socketPath: string | null;
  allow: readonly HostRule[];
  /** In both directions, including models. */
  maxBytes: number;
  models: readonly ModelUpstream[];
  budget: Budget;
  /** What earlier attempts of the turn used. @default nothing */
  usedBefore?: UsedBefore;
  /** Called with the usage so far whenever a model call has ended. */
  onUsage?: (usage: Usage) => void;
  /** Called when a model call has failed. */
  onTrouble?: (trouble: ModelTrouble) => void;
  /** Called each time something was left out of a model call. */
  onLeftOut?: (what: LeftOut) => void;
  /** The operator's proxy. @default direct connections */
  proxy?: ProxySettings;
  logger: TurnLogger;
  /** @default DNS */
  resolve?: Resolve;
  limits?: Partial<NetworkLimits>;
};

/** The network of a turn couldn't be opened. */
export class TurnNetworkError extends DocsAgentError {
  readonly code = "turn_network";
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 5 * 60_000;
const LOOPBACK = "127.0.0.1";

/** Opens the network of one turn. Disposing of it ends all connections. */
export async function openTurnNetwork(options: TurnNetworkOptions) {
  const { socketPath, models, proxy: way = DIRECT } = options;
  const limits = { ...NETWORK_LIMITS, ...options.limits };
  const logger = createBoundedLogger(options.logger, limits.logLines);
  const ended = new AbortController();
  const { signal } = ended;
  setMaxListeners(0, signal);
  const { promise: exceeded, resolve: onExceeded } = Promise.withResolvers<string>();

  const traffic = new TurnTraffic(options.maxBytes, (reason) => {
    onExceeded(reason);
    ended.abort();
  });
  const onCounted = () => options.onUsage?.(usage());
  const budget = new TurnBudget(options.budget, { onExceeded, onCounted }, options.usedBefore);
  let trouble: ModelTrouble | null = null;
  const placeholderKey = `sk-turn-${randomBytes(24).toString("hex")}`;
  // Anybody on this machine can connect to a port, but only the sandbox has the socket.
  const proxyPassword = socketPath === null ? randomBytes(16).toString("hex") : null;
  const dispatcher = createDispatcher(way, { timeoutMs: limits.connectMs });
  const shared = { traffic, limits, logger, signal };
  const proxy = createEgressProxy({
    ...shared,
    rules: options.allow,
    resolve: options.resolve ?? createResolve(signal),
    proxy: way,
    password: proxyPassword,
  });
  const gateway = createModelGateway({
    ...shared,
    upstreams: models,
    placeholderKey,
    budget,
    dispatcher,
    onTrouble: (now) => {
      trouble = now;
      if (now !== null) options.onTrouble?.(now);
    },
    onLeftOut: (what) => options.onLeftOut?.(what),
  });

  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
  server.maxConnections = limits.connections;
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  signal.addEventListener("abort", () => {
    for (const socket of sockets) socket.destroy();
  });
  const calls = new Set<Promise<unknown>>();
  // If a handler throws, its connection ends. Otherwise nobody would catch the error, and the
  // process would end.
  const onRequest = limitPipelining((request, response) => {
    const isForGateway = request.url?.startsWith("/") === true;
    const handled = (isForGateway ? gateway(request, response) : proxy.forward(request, response))
      .catch(() => response.destroy())
      .finally(() => calls.delete(handled));
    if (isForGateway) calls.add(handled);
  });
  server.on("request", onRequest);
  server.on("connect", (request, client, head) => {
    proxy.tunnel(request, client, head).catch(() => client.destroy());
  });
  server.on("drop", () => logger.warn({ max: limits.connections }, "agent has too many connections"));

  async function close(): Promise<void> {
    ended.abort();
    const closed = new Promise((resolve) => server.close(resolve));
    // Waits, so that their usage is counted.
    await Promise.all(calls);
    // No request is under way anymore. Not awaited: after some resets it never resolves
    // (`isOfPausedParser` in `runner/process/main.ts`).
    dispatcher.destroy().catch(() => {});
    await closed;
    // The socket may never have existed, so any error can be ignored.
    if (socketPath !== null) await rm(socketPath, { force: true }).catch(() => {});
  }
  let closing: Promise<void> | null = null;

  let port: number | null;
  try {
    port = await listen(server, socketPath);
  } catch (thrown) {
    await close();
    throw thrown;
  }

  function usage() {
    const { calls, inputTokens, outputTokens, cachedInputTokens, usd } = budget.usage();
    return { calls, inputTokens, outputTokens, cachedInputTokens, costUsd: usd };
  }

  function accessTo(loopbackPort: number): ModelAccess[] {
    return models.map(({ name, kind }) => {
      const url = `http://${LOOPBACK}:${loopbackPort}/models/${name}`;
      return { name, kind, url: kind === "openai" ? `${url}/v1` : url, key: placeholderKey };
    });
  }

  return {
    socketPath,
    /** Null if it listens at `socketPath`, and otherwise that of 127.0.0.1. */
    port,
    /**
     * Resolves with the reason, a sentence for people, when a limit or the budget is exceeded.
     * Never rejects.
     */
    exceeded,
    /** True if the budget was exceeded. */
    isBudgetSpent: () => budget.reason !== null,
    /** For agents whose models are set in a file or in arguments. */
    models: accessTo,
    /** The variables that an agent needs, given the port of its own 127.0.0.1 that leads here. */
    env: (loopbackPort: number): Record<string, string> => ({
      ...proxyVariables(loopbackPort, proxyPassword),
      // The first upstream of each kind gets the variables that agents know.
      ...Object.assign(
        {},
        ...accessTo(loopbackPort)
          .toReversed()
          .map(({ kind, url, key }) => KIND_TRAITS[kind].variables(url, key)),
      ),
    }),
    /** The usage so far. */
    usage,
    traffic,
    /** Why the last model call failed, or null if it didn't. */
    modelTrouble: (): ModelTrouble | null => trouble,
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

/** Resolves to the port, or null if it listens at the path. */
async function listen(server: Server, path: string | null): Promise<number | null> {
  if (path !== null && Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
    throw new TurnNetworkError(
      `The path of the agent's socket is longer than ${MAX_SOCKET_PATH_BYTES} bytes. Move dataDir ` +
        "to a shorter path.",
    );
  }
  try {
    // Removes a socket that a killed process left.
    if (path !== null) await rm(path, { force: true });
    server.listen(path === null ? { host: LOOPBACK, port: 0 } : { path });
    await once(server, "listening");
    if (path !== null) await chmod(path, 0o600);
  } catch (thrown) {
    throw new TurnNetworkError(`The agent's network can't be opened (${codeOrNameOf(thrown)}).`, {
      cause: thrown,
    });
  }
  const address = server.address();
  return address === null || typeof address === "string" ? null : address.port;
}

function proxyVariables(port: number, password: string | null): Record<string, string> {
  const user = password === null ? "" : `turn:${password}@`;
  const url = `http://${user}${LOOPBACK}:${port}`;
  const direct = "127.0.0.1,localhost,::1";
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    // Without this, Node's own fetch doesn't read the proxy variables.
    NODE_USE_ENV_PROXY: "1",
  };
}
