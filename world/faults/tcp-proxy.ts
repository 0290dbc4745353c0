import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/**
 * The state of a {@link TcpProxy}. `refuse` cuts open connections and refuses others. `silent`
 * accepts them and passes nothing on. Data that was sent meanwhile arrives when it is open again,
 * as after an outage of a network. `strange` cuts open connections, and answers others with
 * {@link TcpProxy.strangeAnswer}, as whoever stands in between does.
 */
export type TcpProxyMood = "open" | "refuse" | "silent" | "strange";

/** A proxy in front of a server on loopback, which can make it unreachable for a time. */
export class TcpProxy implements AsyncDisposable {
  readonly #targetPort: number;
  readonly #server = createServer((socket) => this.#take(socket));
  readonly #sockets = new Set<Socket>();
  /** Connections whose next answer is cut in the middle. */
  readonly #toCut = new Set<Socket>();
  #mood: TcpProxyMood = "open";
  #port = 0;
  /** What a `strange` proxy answers, whatever was asked. */
  strangeAnswer = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
  /** Called with what passes, before it does. */
  onData: (from: "client" | "server", chunk: Buffer) => void = () => {};

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  async become(mood: TcpProxyMood): Promise<void> {
    this.#mood = mood;
    if (mood === "refuse") {
      await this.#end();
      return;
    }
    if (mood === "strange") for (const socket of this.#sockets) socket.destroy();
    for (const socket of this.#sockets) this.#adjust(socket);
    if (!this.#server.listening) await this.#listen();
  }

  /** Ends each open connection in the middle of the next data that the server sends on it. */
  cutNextAnswers(): void {
    for (const socket of this.#sockets) this.#toCut.add(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  #take(socket: Socket): void {
    if (this.#mood === "strange") {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(this.strangeAnswer));
      return;
    }
    const target = connect(this.#targetPort, "127.0.0.1");
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("data", (chunk: Buffer) => {
        this.onData(from === socket ? "client" : "server", chunk);
        if (from === target && this.#toCut.has(from)) to.end(chunk.subarray(0, chunk.length / 2));
        else to.write(chunk);
      });
      from.on("end", () => to.end());
      from.on("close", () => {
        this.#sockets.delete(from);
        this.#toCut.delete(from);
        to.destroySoon();
      });
      this.#sockets.add(from);
      this.#adjust(from);
    }
  }

  #adjust(socket: Socket): void {
    if (this.#mood === "silent") socket.pause();
    else socket.resume();
  }

  async #listen(): Promise<void> {
    const listening = once(this.#server, "listening");
    this.#server.listen(this.#port, "127.0.0.1");
    await listening;
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #end(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
