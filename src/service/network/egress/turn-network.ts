import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { rm } from "node:fs/promises";
import { DIRECT } from "../../../shared/machine/proxy.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { createResolve, type HostRule, type Resolve } from "./find-route.ts";
import { LOOPBACK, NetworkServer } from "./network-server.ts";
import {
  createBoundedLogger,
  NETWORK_LIMITS,
  type NetworkLimits,
  type TurnLogger,
  TurnTraffic,
} from "../limits.ts";
import { KIND_TRAITS, type ModelKind } from "../gateway/model-kinds.ts";
import { openTurnModels, type TurnModelsOptions } from "../gateway/turn-models.ts";
import type { ModelUpstream } from "../gateway/upstream-client.ts";

/** How the agent reaches one model upstream. */
export type ModelAccess = { name: string; kind: ModelKind; url: string; key: string };

/**
 * The only way out of a turn's sandbox: a proxy with a list of hosts, and the gateway to the
 * models.
 */
export type TurnNetwork = Awaited<ReturnType<typeof openTurnNetwork>>;

export type TurnNetworkOptions = TurnModelsOptions & {
  /**
   * The path to listen at, in a folder that nobody else may write to. Null means any free port of
   * 127.0.0.1.
   */
  socketPath: string | null;
  allow: readonly HostRule[];
  /** In both directions, including models. */
  maxBytes: number;
  logger: TurnLogger;
  /** @default DNS */
  resolve?: Resolve;
  limits?: Partial<NetworkLimits>;
};

/** Opens the network of one turn. Disposing of it ends all connections. */
export async function openTurnNetwork(options: TurnNetworkOptions) {
  const { socketPath, models } = options;
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
  // Anybody on this machine can connect to a port, but only the sandbox has the socket.
  const password = socketPath === null ? randomBytes(16).toString("hex") : null;
  const shared = { traffic, limits, logger, signal };
  const proxy = openProxy(options, password, shared);
  const upstreams = openTurnModels(options, { ...shared, onExceeded });
  const { placeholderKey } = upstreams;
  const server = new NetworkServer({ gateway: upstreams.gateway, proxy, limits, logger, signal });

  async function close(): Promise<void> {
    ended.abort();
    const closed = server.close();
    // Waits, so that their usage is counted.
    await upstreams.close();
    await closed;
    // The socket may never have existed, so any error can be ignored.
    if (socketPath !== null) await rm(socketPath, { force: true }).catch(() => {});
  }
  let closing: Promise<void> | null = null;

  let port: number | null;
  try {
    port = await server.listen(socketPath);
  } catch (thrown) {
    await close();
    throw thrown;
  }
  const accessTo = (loopbackPort: number) => accessOf(models, placeholderKey, loopbackPort);

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
    isBudgetSpent: upstreams.isBudgetSpent,
    /** For agents whose models are set in a file or in arguments. */
    models: accessTo,
    /** The variables that an agent needs, given the port of its own 127.0.0.1 that leads here. */
    env: (loopbackPort: number): Record<string, string> => ({
      ...proxyVariables(loopbackPort, password),
      ...modelVariables(accessTo(loopbackPort)),
    }),
    /** The usage so far. */
    usage: upstreams.usage,
    traffic,
    /** Why the last model call failed, or null if it didn't. */
    modelTrouble: upstreams.trouble,
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

/** What the ways out of one turn have in common. */
type SharedParts = { traffic: TurnTraffic; limits: NetworkLimits; logger: TurnLogger; signal: AbortSignal };

function openProxy(
  { allow, resolve, proxy = DIRECT }: TurnNetworkOptions,
  password: string | null,
  shared: SharedParts,
): EgressProxy {
  const { signal } = shared;
  return new EgressProxy({
    ...shared,
    rules: allow,
    resolve: resolve ?? createResolve(signal),
    proxy,
    password,
  });
}

function accessOf(models: readonly ModelUpstream[], key: string, loopbackPort: number): ModelAccess[] {
  return models.map(({ name, kind }) => {
    const url = `http://${LOOPBACK}:${loopbackPort}/models/${name}`;
    return { name, kind, url: kind === "openai" ? `${url}/v1` : url, key };
  });
}

/** The first upstream of each kind gets the variables that agents know. */
function modelVariables(models: readonly ModelAccess[]): Record<string, string> {
  const last = models.toReversed().map(({ kind, url, key }) => KIND_TRAITS[kind].variables(url, key));
  return Object.assign({}, ...last);
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
