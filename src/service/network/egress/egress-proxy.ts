import type { EventEmitter } from "node:events";
import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { codeOf } from "../../../shared/errors.ts";
import { proxyFor, type ProxySettings } from "../../../shared/machine/proxy.ts";
import { connectOut, type WayOut } from "./connect-out.ts";
import {
  findRoute,
  type HostRule,
  httpTargetOf,
  isThisMachine,
  type NetworkTarget,
  parseAuthority,
  type Resolve,
  targetText,
} from "./find-route.ts";
import { endToEndHeaders, isSameSecret } from "../gateway/http-headers.ts";
import { type NetworkLimits, trafficReason, type TurnLogger, type TurnTraffic } from "../limits.ts";

type ProxyRefusal = { status: 400 | 403 | 407 | 429 | 502; reason: string };
type Client = Pick<Writable, "destroyed" | "once"> & { destroy: () => unknown };

export type EgressProxyDeps = {
  rules: readonly HostRule[];
  resolve: Resolve;
  /** The operator's proxy. */
  proxy: ProxySettings;
  /**
   * The password that clients must send in Proxy-Authorization, with any user name. Null if none is
   * needed.
   */
  password: string | null;
  traffic: TurnTraffic;
  limits: NetworkLimits;
  logger: TurnLogger;
  /** When this aborts, every connection ends. */
  signal: AbortSignal;
};

const CHALLENGE = 'Basic realm="turn"';
const PLAIN_TEXT = "text/plain; charset=utf-8";

/** The HTTP proxy of one turn, which only reaches the hosts on its list. */
export class EgressProxy {
  readonly #deps: EgressProxyDeps;

  constructor(deps: EgressProxyDeps) {
    this.#deps = deps;
  }

  /** Answers a CONNECT and then passes bytes on in both directions. */
  async tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    // Without a listener, a client that resets its connection would end the process.
    client.on("error", () => client.destroy());
    const permission = await this.#permit(request, parseAuthority(request.url ?? ""), "https");
    if (!(client instanceof Socket)) {
      client.destroy();
      return;
    }
    const reached = await this.#reach(client, permission, (refusal) => refuseTunnel(client, refusal));
    if (reached === null) return;
    const { target, socket: upstream } = reached;
    this.#endTogether(client, upstream);
    const meter = this.#meterFor(target, "tunnel", upstream);
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    meter.out(head.length);
    upstream.write(head);
    // Added together with the pipe, because a listener would start the flow too early.
    client.on("data", (chunk: Buffer) => meter.out(chunk.length)).pipe(upstream);
    upstream.on("data", (chunk: Buffer) => meter.in(chunk.length)).pipe(client);
  }

  /** Answers a request whose target is an http URL. */
  async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "");
    const permission = await this.#permit(request, url === null ? null : httpTargetOf(url), "http");
    const reached = await this.#reach(response, permission, (refusal) => answerRefusal(response, refusal));
    if (reached === null || url === null) return;
    const { target, socket } = reached;
    const outgoing = this.#requestOver(socket, request, url);
    const meter = this.#meterFor(target, "http", outgoing);
    response.once("close", () => outgoing.destroy());
    request.once("error", () => outgoing.destroy());
    request.on("data", (chunk: Buffer) => meter.out(chunk.length)).pipe(outgoing);
    try {
      const answer = await answerTo(outgoing);
      response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers));
      answer.on("data", (chunk: Buffer) => meter.in(chunk.length));
      await pipeline(answer, response);
    } catch (thrown) {
      outgoing.destroy();
      if (response.headersSent) response.destroy();
      else answerRefusal(response, unreachable(target, thrown));
    }
  }

  async #permit(
    request: IncomingMessage,
    target: NetworkTarget | null,
    scheme: "http" | "https",
  ): Promise<WayOut | ProxyRefusal> {
    const { password, rules, resolve, traffic, logger } = this.#deps;
    if (!isAuthorized(request, password)) {
      const reason = "Use the proxy's address as it is in the environment, with user name and password.";
      return { status: 407, reason };
    }
    if (target === null) {
      return { status: 400, reason: "Send CONNECT with host:port, or a request with an http:// URL." };
    }
    if (traffic.isExceeded) return { status: 429, reason: trafficReason(traffic.maxBytes) };
    // Through a proxy, this machine's addresses and names would mean the proxy's machine.
    const proxy = isThisMachine(target.host) ? null : proxyFor(this.#deps.proxy, { ...target, scheme });
    const route = await findRoute(target, rules, resolve, proxy !== null);
    if (route.kind === "open") return { target, addresses: route.addresses, proxy };
    if (route.kind === "unknown") return { status: 502, reason: route.reason };
    logger.warn({ target: targetText(target) }, "agent was refused a host");
    return { status: 403, reason: route.reason };
  }

  #meterFor({ host, port }: NetworkTarget, kind: string, closing: EventEmitter) {
    const meter = this.#deps.traffic.meter();
    closing.once("close", () => {
      this.#deps.logger.info({ host, ...meter.soFar, port, kind }, "agent's connection closed");
    });
    return meter;
  }

  /**
   * Connects a client with its target, or tells it why that isn't possible. Resolves to null if
   * there is nothing left to do.
   */
  async #reach(
    client: Client,
    permission: WayOut | ProxyRefusal,
    refuse: (refusal: ProxyRefusal) => void,
  ): Promise<{ target: NetworkTarget; socket: Socket } | null> {
    const { limits, signal } = this.#deps;
    const hungUp = new AbortController();
    client.once("close", () => hungUp.abort());
    if (client.destroyed) return null;
    if ("status" in permission) refuse(permission);
    else {
      const { target } = permission;
      try {
        const socket = await connectOut(permission, limits, AbortSignal.any([signal, hungUp.signal]));
        socket.on("error", () => socket.destroy());
        if (!client.destroyed && !signal.aborted) return { target, socket };
        socket.destroy();
        client.destroy();
      } catch (thrown) {
        if (signal.aborted) client.destroy();
        else refuse(unreachable(target, thrown));
      }
    }
    return null;
  }

  /** Ends each side when the other ends, both when idle for too long, and both with the turn. */
  #endTogether(client: Socket, upstream: Socket): void {
    const { limits, signal } = this.#deps;
    const destroy = () => upstream.destroy();
    signal.addEventListener("abort", destroy, { once: true });
    upstream.once("close", () => {
      signal.removeEventListener("abort", destroy);
      client.destroySoon();
    });
    upstream.setTimeout(limits.idleMs, destroy);
    // This also applies once the upstream is gone and only what it sent is left.
    client.setTimeout(limits.idleMs, () => client.destroy());
    client.once("close", () => upstream.destroySoon());
  }

  #requestOver(socket: Socket, request: IncomingMessage, url: URL): ClientRequest {
    const { limits, signal } = this.#deps;
    const outgoing = httpRequest({
      createConnection: () => socket,
      method: request.method ?? "GET",
      path: `${url.pathname}${url.search}`,
      // We write the Host header. With the agent's own, the request could reach another site at
      // the same address.
      headers: {
        ...endToEndHeaders(request.headers),
        ...framingOf(request),
        host: url.host,
        connection: "close",
      },
      setHost: false,
      maxHeaderSize: limits.headerBytes,
      signal,
    });
    outgoing.setTimeout(limits.idleMs, () => outgoing.destroy(new Error("timeout")));
    return outgoing;
  }
}

/**
 * Rejects if there is no answer that can be passed on. This is a promise, because an error thrown
 * in a listener would end the process.
 */
function answerTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once("response", (answer) => {
    if ((answer.statusCode ?? 0) >= 200) resolve(answer);
    else outgoing.destroy();
  });
  outgoing.on("error", reject);
  outgoing.once("close", () => reject(new Error("It was closed.")));
  return promise;
}

/**
 * The headers that say where the body ends. Without them, the host would read a body as further
 * requests, to sites of the agent's choice.
 */
function framingOf({ headers }: IncomingMessage): Record<string, string> {
  if (headers["transfer-encoding"] !== undefined) return { "transfer-encoding": "chunked" };
  const length = headers["content-length"];
  return length === undefined ? {} : { "content-length": length };
}

function isAuthorized({ headers }: IncomingMessage, password: string | null): boolean {
  if (password === null) return true;
  const [, given = ""] = /^Basic +(\S+) *$/i.exec(headers["proxy-authorization"] ?? "") ?? [];
  const text = Buffer.from(given, "base64").toString();
  return isSameSecret(text.slice(text.indexOf(":") + 1), password);
}

function unreachable(target: NetworkTarget, thrown: unknown): ProxyRefusal {
  return {
    status: 502,
    reason: `${targetText(target)} can't be reached (${codeOf(thrown) ?? "no answer"}).`,
  };
}

function refuseTunnel(client: Socket, { status, reason }: ProxyRefusal): void {
  if (!client.writable) return;
  const body = `${reason}\n`;
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${PLAIN_TEXT}\r\n` +
      `${status === 407 ? `proxy-authenticate: ${CHALLENGE}\r\n` : ""}` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function answerRefusal(response: ServerResponse, { status, reason }: ProxyRefusal): void {
  const challenge = status === 407 ? { "proxy-authenticate": CHALLENGE } : {};
  response.writeHead(status, { "content-type": PLAIN_TEXT, connection: "close", ...challenge });
  response.end(`${reason}\n`);
}
