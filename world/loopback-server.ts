import { once } from "node:events";
import type { Server } from "node:http";

/**
 * Listens on loopback. Resolves to the port, which is any free one if `port` is 0. Rejects if the
 * port is taken.
 */
export async function listenOnLoopback(server: Server, port: number, host = "127.0.0.1"): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Stops listening and ends every connection. Does nothing if the server doesn't listen. */
export async function closeNow(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
