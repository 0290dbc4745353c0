import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * A proxy's answer to a CONNECT: it opens the tunnel, answers a status, hangs up, or says nothing.
 */
export type ProxyMood = "open" | { status: number } | "hang-up" | "hang";

export type ConnectProxyOptions = {
  /** The `user:password` that it asks for. @default none */
  login?: string;
  /** The port to which every tunnel leads, as if all names were this server's. */
  leadsTo?: number;
};

/**
 * A forward proxy on loopback that opens tunnels, like those at the edge of a company's network.
 */
export class ConnectProxy implements AsyncDisposable {
  /** The `host:port` of every CONNECT, including those that were refused. */
  readonly asked: string[] = [];
  /** All other requests. This proxy accepts none of them. */
  readonly others: string[] = [];
  mood: ProxyMood = "open";
  readonly #options: ConnectProxyOptions;
  readonly #sockets = new Set<Duplex>();
  readonly #server = createServer((request, response) => {
    this.others.push(`${request.method} ${request.url}`);
    response.writeHead(405).end();
  });

  private constructor(options: ConnectProxyOptions) {
    this.#options = options;
    this.#server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#tunnel(request, socket, head),
    );
    this.#server.on("connection", (socket: Socket) => this.#sockets.add(socket));
  }

  static async start(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => undefined);
    this.asked.push(request.url ?? "");
    if (this.mood === "hang") return;
    if (this.mood === "hang-up") {
      socket.destroy();
      return;
    }
    if (this.mood !== "open") return refuse(socket, this.mood.status);
    const { login, leadsTo } = this.#options;
    const wanted = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
    if (request.headers["proxy-authorization"] !== wanted) return refuse(socket, 407);
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(leadsTo ?? Number(port || 80), leadsTo === undefined ? hostname : "127.0.0.1");
    this.#sockets.add(target);
    target.on("error", () => refuse(socket, 502));
    target.on("connect", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) target.write(head);
      target.pipe(socket).on("close", () => target.destroy());
      socket.pipe(target);
    });
  }
}

function refuse(socket: Duplex, status: number): void {
  const login = status === 407 ? "Proxy-Authenticate: Basic\r\n" : "";
  const page = "<html>the proxy's own page</html>";
  const head = `Content-Type: text/html\r\nContent-Length: ${page.length}\r\n`;
  socket.end(`HTTP/1.1 ${status} X\r\n${login}${head}\r\n${page}`);
}
