import type { EventEmitter } from "node:events";
import { type IncomingMessage, request as httpRequest, type ServerResponse, STATUS_CODES } from "node:http";
import { connect, isIP, type LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "../../core/logger.ts";
import { codeOf } from "../../errors.ts";
import { findRoute, type Resolve } from "./find-route.ts";
import { type HostRule, httpTargetOf, type NetworkTarget, parseAuthority, targetText } from "./host-rules.ts";
import { endToEndHeaders } from "./http-headers.ts";
import type { NetworkLimits } from "./limits.ts";
import { isSameSecret } from "./same-secret.ts";
import { type TurnTraffic, type TrafficMeter, trafficReason } from "./traffic.ts";

type ProxyRefusal = { kind: "refused"; status: 400 | 403 | 407 | 429 | 502; reason: string };
type OpenPermission = { kind: "open"; target: NetworkTarget; addresses: readonly string[] };
type Permission = OpenPermission | ProxyRefusal;

export type EgressProxyDeps = {
  rules: readonly HostRule[];
  resolve: Resolve;
  /** What clients must send in Proxy-Authorization, with any user name; null: nothing. */
  password: string | null;
  traffic: TurnTraffic;
  limits: NetworkLimits;
  logger: Logger;
  /** Ends every connection. */
  signal: AbortSignal;
};

/** An HTTP proxy that reaches nothing but the hosts on its list. */
export type EgressProxy = {
  /** Answers a CONNECT and then hands on bytes in both directions. */
  tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void>;
  /** Answers a request whose target is an http URL. */
  forward(request: IncomingMessage, response: ServerResponse): Promise<void>;
};

const CHALLENGE = 'Basic realm="turn"';
const PLAIN_TEXT = "text/plain; charset=utf-8";
/** Time for one of several addresses before the next is tried beside it. */
const NEXT_ADDRESS_MS = 1000;

/** Makes the proxy of one turn. */
export function createEgressProxy(deps: EgressProxyDeps): EgressProxy {
  const { rules, resolve, traffic, limits, signal } = deps;

  async function permit(request: IncomingMessage, target: NetworkTarget | null): Promise<Permission> {
    if (!isAuthorized(request, deps.password)) {
      return refusal(
        407,
        "Use the proxy's address as it is in the environment, with user name and password.",
      );
    }
    if (target === null) {
      return refusal(400, "Send CONNECT with host:port, or a request with an http:// URL.");
    }
    if (traffic.isExceeded) return refusal(429, trafficReason(traffic.maxBytes));
    const route = await findRoute(target, rules, resolve);
    if (route.kind === "open") return { kind: "open", target, addresses: route.addresses };
    if (route.kind === "refused")
      deps.logger.warn({ target: targetText(target) }, "agent was refused a host");
    return refusal(route.kind === "refused" ? 403 : 502, route.reason);
  }

  function meterFor({ host, port }: NetworkTarget, kind: string, closing: EventEmitter): TrafficMeter {
    const meter = traffic.meter(host);
    closing.once("close", () => {
      deps.logger.info({ ...meter.soFar(), port, kind }, "agent's connection closed");
    });
    return meter;
  }

  return {
    async tunnel(request, client, head) {
      // Without a listener, a client that resets its connection would end the process.
      client.on("error", () => client.destroy());
      const permission = await permit(request, parseAuthority(request.url ?? ""));
      if (!(client instanceof Socket) || client.destroyed) {
        client.destroy();
        return;
      }
      if (permission.kind === "refused") {
        refuseTunnel(client, permission);
        return;
      }
      if (signal.aborted) {
        client.destroy();
        return;
      }
      const { target } = permission;
      const upstream = connect({ ...pinned(permission), allowHalfOpen: true });
      const destroy = () => upstream.destroy();
      signal.addEventListener("abort", destroy, { once: true });
      upstream.setTimeout(limits.connectMs, () => upstream.destroy(new Error("timeout")));
      client.once("close", destroy);
      let isOpen = false;
      upstream.on("error", (error) => {
        if (!isOpen) refuseTunnel(client, unreachable(target, error));
      });
      upstream.once("close", () => {
        signal.removeEventListener("abort", destroy);
        client.destroySoon();
      });
      upstream.once("connect", () => {
        isOpen = true;
        upstream.setTimeout(limits.idleMs);
        // Also once the upstream is gone and only what it sent is left.
        client.setTimeout(limits.idleMs, () => client.destroy());
        client.off("close", destroy).once("close", () => upstream.destroySoon());
        const meter = meterFor(target, "tunnel", upstream);
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        meter.out(head.length);
        upstream.write(head);
        // Added together with the pipe: a listener of its own would start the flow too early.
        client.on("data", (chunk: Buffer) => meter.out(chunk.length)).pipe(upstream);
        upstream.on("data", (chunk: Buffer) => meter.in(chunk.length)).pipe(client);
      });
    },

    async forward(request, response) {
      const url = URL.parse(request.url ?? "");
      const permission = await permit(request, url === null ? null : httpTargetOf(url));
      if (permission.kind === "refused") {
        if (!response.destroyed) answerRefusal(response, permission);
        return;
      }
      if (response.destroyed || signal.aborted || url === null) {
        response.destroy();
        return;
      }
      const { target } = permission;
      const outgoing = httpRequest({
        ...pinned(permission),
        method: request.method ?? "GET",
        path: `${url.pathname}${url.search}`,
        // Not what the agent wrote: with another Host it would reach another site at the same address.
        headers: { ...endToEndHeaders(request.headers), host: url.host, connection: "close" },
        setHost: false,
        agent: false,
        maxHeaderSize: limits.headerBytes,
        signal,
      });
      const meter = meterFor(target, "http", outgoing);
      const giveUp = () => outgoing.destroy(new Error("timeout"));
      // Not the socket's own, which begins anew with each address that is tried.
      const connecting = setTimeout(giveUp, limits.connectMs);
      outgoing.once("socket", (socket) => socket.once("connect", () => clearTimeout(connecting)));
      outgoing.once("close", () => clearTimeout(connecting));
      outgoing.setTimeout(limits.idleMs, giveUp);
      outgoing.on("error", (error) => {
        if (response.headersSent) response.destroy();
        else answerRefusal(response, unreachable(target, error));
      });
      outgoing.once("response", (answer) => {
        answer.once("error", () => response.destroy());
        response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers));
        answer.on("data", (chunk: Buffer) => meter.in(chunk.length)).pipe(response);
      });
      response.once("close", () => outgoing.destroy());
      request.once("error", () => outgoing.destroy());
      request.on("data", (chunk: Buffer) => meter.out(chunk.length)).pipe(outgoing);
    },
  };
}

/** Connects to the addresses that were checked, whatever the name means by now. */
function pinned({ target, addresses }: OpenPermission) {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, options, callback) => {
    const [first] = known;
    if (options.all === true) callback(null, known);
    else if (first !== undefined) callback(null, first.address, first.family);
  };
  const { host, port } = target;
  return { host, port, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS };
}

function isAuthorized({ headers }: IncomingMessage, password: string | null): boolean {
  if (password === null) return true;
  const [, given = ""] = /^Basic +(\S+) *$/i.exec(headers["proxy-authorization"] ?? "") ?? [];
  const text = Buffer.from(given, "base64").toString();
  return isSameSecret(text.slice(text.indexOf(":") + 1), password);
}

function refusal(status: ProxyRefusal["status"], reason: string): ProxyRefusal {
  return { kind: "refused", status, reason };
}

function unreachable(target: NetworkTarget, error: Error): ProxyRefusal {
  return refusal(502, `${targetText(target)} can't be reached (${codeOf(error) ?? "no answer"}).`);
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
