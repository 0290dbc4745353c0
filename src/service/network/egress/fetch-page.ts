import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTls } from "node:tls";
import { proxyFor, type ProxySettings } from "../../../shared/machine/proxy.ts";
import { NETWORK_LIMITS } from "../limits.ts";
import { connectOut } from "./connect-out.ts";
import { createResolve, findRoute, type HostRule, isThisMachine, type Resolve } from "./find-route.ts";

/** The limits of one page, with the pages that lead to it. */
const PAGE_LIMITS = { ms: 10_000, bytes: 2 * 1024 ** 2, redirects: 3 };
const IS_PAGE = /^(?:text\/(?:html|plain|markdown)|application\/xhtml\+xml)\b/i;
const REDIRECTS = [301, 302, 303, 307, 308];

export type PageOptions = {
  /** The hosts that may be reached. An address that isn't on the internet takes a port here. */
  rules: readonly HostRule[];
  proxy: ProxySettings;
  signal: AbortSignal;
  /** @default DNS */
  resolve?: Resolve;
  /** @default 10 seconds */
  timeLimitMs?: number;
};

/**
 * Reads a page without any credentials. Follows redirects within its host. Resolves to null if it
 * can't be read now, isn't text, or is too large or too slow.
 */
export async function fetchPage(address: string, options: PageOptions): Promise<Uint8Array | null> {
  const late = AbortSignal.timeout(options.timeLimitMs ?? PAGE_LIMITS.ms);
  const signal = AbortSignal.any([options.signal, late]);
  const resolve = options.resolve ?? createResolve(signal);
  try {
    let url = new URL(address);
    const { hostname } = url;
    for (let redirects = 0; redirects <= PAGE_LIMITS.redirects; redirects += 1) {
      if (url.hostname !== hostname || url.username !== "" || url.password !== "") return null;
      const answer = await ask(url, { ...options, resolve, signal });
      if (answer === null) return null;
      try {
        const { statusCode = 0, headers } = answer;
        if (statusCode === 200) return await readBody(answer);
        const next = REDIRECTS.includes(statusCode) ? URL.parse(headers.location ?? "", url.href) : null;
        if (next === null) return null;
        url = next;
      } finally {
        answer.destroy();
      }
    }
    return null;
  } catch (error) {
    options.signal.throwIfAborted();
    // Whatever a host does, the page can't be read now.
    if (error instanceof Error) return null;
    throw error;
  }
}

async function ask(
  url: URL,
  { rules, proxy: settings, resolve, signal }: PageOptions & { resolve: Resolve },
): Promise<IncomingMessage | null> {
  const isTls = url.protocol === "https:";
  if (!isTls && url.protocol !== "http:") return null;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = { host, port: Number(url.port || (isTls ? 443 : 80)) };
  const scheme = isTls ? "https" : "http";
  const proxy = isThisMachine(host) ? null : proxyFor(settings, { ...target, scheme });
  const route = await findRoute(target, rules, resolve, proxy !== null);
  if (route.kind !== "open") return null;
  const { addresses } = route;
  const socket = await connectOut({ target, addresses, proxy }, NETWORK_LIMITS, signal);
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>();
  socket.on("error", reject);
  const headers = { accept: "text/html", "accept-encoding": "identity", "user-agent": "docs-agent" };
  const asking = (isTls ? httpsRequest : httpRequest)(url, {
    agent: false,
    headers,
    signal,
    maxHeaderSize: NETWORK_LIMITS.headerBytes,
    createConnection: () => (isTls ? connectTls({ socket, servername: host }) : socket),
  });
  asking.once("response", answered).on("error", reject).end();
  return promise;
}

async function readBody(answer: IncomingMessage): Promise<Uint8Array | null> {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = answer.headers;
  if (!IS_PAGE.test(type) || encoding !== "identity") return null;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > PAGE_LIMITS.bytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
