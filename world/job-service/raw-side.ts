import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/**
 * Starts a server on loopback that answers the first bytes of each connection with `answer`,
 * whatever they are.
 */
export async function startRawSide(answer: string) {
  const sockets = new Set<Socket>();
  const got: Buffer[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => got.push(chunk));
    socket.once("data", () => socket.write(Buffer.from(answer, "latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Returns everything that was sent to it. */
    received: () => Buffer.concat(got).toString("latin1"),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
