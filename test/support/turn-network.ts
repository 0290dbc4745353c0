import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { parseHostRule } from "../../src/service/network/egress/find-route.ts";
import {
  openTurnNetwork,
  type TurnNetwork,
  type TurnNetworkOptions,
} from "../../src/service/network/egress/turn-network.ts";
import type { ModelUpstream } from "../../src/service/network/gateway/upstream-client.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { openTempDir } from "./temp-dir.ts";

/** Assembled here, so that no scanner takes it for a real key. */
export const REAL_KEY = `sk-real/${"a1B2+".repeat(8)}"`;

/** A request that an {@link HttpSide} got. */
export type Seen = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** A running HTTP server. */
export type HttpSide = AsyncDisposable & {
  port: number;
  url: string;
  /** The requests, in the order in which they arrived as a whole. */
  seen: Seen[];
  server: Server;
};

/** Starts an HTTP server on loopback that reads each request and then answers as the test says. */
export async function startHttpSide(
  answer: (seen: Seen, ...rest: Parameters<RequestListener>) => unknown,
): Promise<HttpSide> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(one, request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = (server.address() as { port: number }).port;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    seen,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A turn's network, and a client in the agent's place. */
export type NetworkWorld = AsyncDisposable & {
  network: TurnNetwork;
  logger: RecordingLogger;
  /** The key that the agent sends. */
  key: string;
  /** Opens a connection, as the relay does. */
  dial(): Promise<Socket>;
  /** Sends a request over the socket, as the agent does. */
  ask(request: {
    method?: string;
    path: string;
    headers?: Record<string, string>;
    body?: string | object;
  }): Promise<Answer>;
  /** Asks for a tunnel. `socket` is open if the status is 200. */
  tunnel(authority: string, headers?: Record<string, string>): Promise<Answer & { socket: Socket }>;
};

/** An HTTP answer. */
export type Answer = { status: number; headers: Record<string, string>; text: string };

/** Makes an upstream for models at this address. */
export function upstreamAt(url: string, over: Partial<ModelUpstream> = {}): ModelUpstream {
  return {
    name: "up",
    kind: "anthropic",
    baseUrl: url,
    key: REAL_KEY,
    keyEnv: "MODEL_KEY",
    prices: {},
    allow: { fields: [], tools: [], betas: [] },
    ...over,
  };
}

/** Opens a turn's network on a socket in a folder of its own. */
export async function openNetworkWorld({
  allow = [],
  onPort = false,
  ...over
}: Partial<Omit<TurnNetworkOptions, "allow" | "socketPath">> & {
  allow?: string[];
  onPort?: boolean;
} = {}): Promise<NetworkWorld> {
  const dir = await openTempDir();
  const logger = new RecordingLogger();
  const rules = allow.map((text) => {
    const rule = parseHostRule(text);
    if (rule === null) throw new Error(`Not a rule: ${text}`);
    return rule;
  });
  const network = await openTurnNetwork({
    socketPath: onPort ? null : dir.file("socket"),
    allow: rules,
    maxBytes: 1024 ** 3,
    models: [],
    budget: { tokens: null, usd: null },
    logger,
    ...over,
  });
  const key = network.models(1)[0]?.key ?? "";

  async function dial(): Promise<Socket> {
    const { socketPath, port } = network;
    const socket = socketPath === null ? connect(port ?? 0, "127.0.0.1") : connect(socketPath);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  return {
    network,
    logger,
    key,
    dial,
    async ask({ method = "POST", path, headers = {}, body = "" }) {
      const socket = await dial();
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const all = {
        host: "gateway",
        "content-length": Buffer.byteLength(text),
        connection: "close",
        ...headers,
      };
      socket.write(`${method} ${path} HTTP/1.1\r\n${linesOf(all)}\r\n\r\n${text}`);
      return parseAnswer(await readAll(socket));
    },
    async tunnel(authority, headers = {}) {
      const socket = await dial();
      socket.write(`CONNECT ${authority} HTTP/1.1\r\n${linesOf({ host: authority, ...headers })}\r\n\r\n`);
      let head = "";
      while (!head.includes("\r\n\r\n")) {
        const [chunk] = (await once(socket, "data")) as [Buffer];
        head += chunk.toString("latin1");
      }
      const answer = parseAnswer(Buffer.from(head, "latin1"));
      if (answer.status !== 200) socket.end();
      return { ...answer, socket };
    },
    async [Symbol.asyncDispose]() {
      await network[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function linesOf(headers: Record<string, string | number>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\r\n");
}

/** Resolves to everything until the other side ends or breaks off. */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // `once` would reject if the other side breaks off.
  await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once("close", resolve)));
  return Buffer.concat(chunks);
}

/**
 * Reads an answer and joins the parts of a chunked body. `headers.broken` says that its end is
 * missing.
 */
function parseAnswer(bytes: Buffer): Answer {
  const raw = bytes.toString("latin1");
  const split = raw.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = raw.slice(0, split).split("\r\n");
  const headers: Record<string, string> = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
  );
  let body = raw.slice(split + 4);
  if (headers["transfer-encoding"] === "chunked") {
    let plain = "";
    let rest = body;
    let size = -1;
    while (rest !== "" && size !== 0) {
      const end = rest.indexOf("\r\n");
      size = Number.parseInt(rest.slice(0, end), 16);
      plain += rest.slice(end + 2, end + 2 + size);
      rest = rest.slice(end + 4 + size);
    }
    if (size !== 0) headers["broken"] = "yes";
    body = plain;
  }
  const status = Number(statusLine.split(" ")[1] ?? 0);
  return { status, headers, text: Buffer.from(body, "latin1").toString() };
}
