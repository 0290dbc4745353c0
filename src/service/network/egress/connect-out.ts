import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ProxyConnectError } from "../../../shared/machine/proxy.ts";
import { type NetworkTarget, targetText } from "./find-route.ts";
import type { NetworkLimits } from "../limits.ts";

/**
 * Where a connection goes. `proxy` is the operator's proxy. If it is null, the connection goes to
 * one of the addresses, which were checked.
 */
export type WayOut = { target: NetworkTarget; addresses: readonly string[]; proxy: string | null };

/** How long to wait for one of several addresses before trying the next one in parallel. */
const NEXT_ADDRESS_MS = 1000;

/**
 * Opens a connection. Rejects if that fails, takes longer than `connectMs`, or is aborted. After
 * that, the connection belongs to the caller.
 */
export async function connectOut(
  way: WayOut,
  { connectMs, headerBytes }: Pick<NetworkLimits, "connectMs" | "headerBytes">,
  signal: AbortSignal,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const connecting =
    way.proxy === null
      ? connectDirectly(way, resolve)
      : askProxy(way.target, new URL(way.proxy), headerBytes, { onOpen: resolve, onRefused: reject });
  connecting.on("error", reject);
  connecting.once("close", () => reject(new Error("closed")));
  const giveUp = (why: string) => connecting.destroy(new Error(why));
  const late = setTimeout(() => giveUp("timeout"), connectMs);
  const stop = () => giveUp("aborted");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", stop);
  }
}

/** Connects to the addresses that were checked, even if the name resolves to others by now. */
function connectDirectly({ target, addresses }: WayOut, onOpen: (socket: Socket) => void): Socket {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  const socket = connect({
    ...target,
    lookup: (_host, _options, callback) => callback(null, known),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    allowHalfOpen: true,
  });
  return socket.once("connect", () => onOpen(socket));
}

/** Uses CONNECT even for plain http, like the rest of the service. */
function askProxy(
  target: NetworkTarget,
  { protocol, hostname, port, username, password }: URL,
  maxHeaderSize: number,
  { onOpen, onRefused }: { onOpen: (socket: Socket) => void; onRefused: (error: Error) => void },
): ClientRequest {
  const isTls = protocol === "https:";
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const at = { host, port: Number(port || (isTls ? 443 : 80)), allowHalfOpen: true };
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authority = targetText(target);
  const asking = (isTls ? httpsRequest : httpRequest)({
    method: "CONNECT",
    path: authority,
    headers: {
      host: authority,
      ...(login === ":" ? {} : { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
    },
    maxHeaderSize,
    createConnection: () =>
      isTls ? connectTls({ ...at, ...(isIP(host) === 0 && { servername: host }) }) : connect(at),
  });
  asking.once("connect", (answer, socket, head) => {
    if (answer.statusCode === 200 && socket instanceof Socket) {
      if (head.length > 0) socket.unshift(head);
      onOpen(socket);
      return;
    }
    socket.on("error", () => {}).destroy();
    onRefused(new ProxyConnectError(`the proxy answered ${answer.statusCode}`));
  });
  return asking.end();
}
