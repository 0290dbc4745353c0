import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "../../src/core/ports/process.ts";

/** Bounds of one turn's network that no setting changes. */
export const NETWORK_LIMITS = {
  /** Connections from the agent at once; more are closed. */
  connections: 128,
  /** A connection to a host is closed after this long without a byte. */
  idleMs: 2 * 60_000,
  /** Time to reach a host or a model upstream. */
  connectMs: 10_000,
  /** Request lines and headers, in bytes. */
  headerBytes: 16 * 1024,
  /** Model calls at once; more wait. */
  modelCalls: 8,
  /** The body of one model call, in bytes. */
  modelRequestBytes: 8 * 1024 ** 2,
  /** Time for that body to arrive; it comes from this machine. */
  modelRequestMs: 30_000,
  /** The answer to one model call, in bytes. */
  modelAnswerBytes: 64 * 1024 ** 2,
  /** Time until a model begins to answer: some think for minutes without a word. */
  modelHeadersMs: 10 * 60_000,
  /** Longest pause in a model's answer. */
  modelPauseMs: 5 * 60_000,
  /** Lines in the log. */
  logLines: 2000,
};
export type NetworkLimits = typeof NETWORK_LIMITS;

/** Where the sockets are in the data folder. */
export const SOCKETS_FOLDER = "net";
/** What the path of a socket may be long, without the final zero (unix(7)). */
export const MAX_SOCKET_PATH_BYTES = 107;
/** So that the sockets in it can be listened at. */
export const MAX_DATA_DIR_BYTES = MAX_SOCKET_PATH_BYTES - newSocketPath(`/${SOCKETS_FOLDER}`).length;

/** A path in `folder` that no other socket has. */
export function newSocketPath(folder: string): string {
  return join(folder, randomBytes(6).toString("base64url"));
}

/** Bytes that went to and came from one host, without what TLS and headers of the proxy add. */
export type HostTraffic = { host: string; bytesIn: number; bytesOut: number };

/** Counts for one connection. */
export type TrafficMeter = { in(bytes: number): void; out(bytes: number): void; soFar(): HostTraffic };

/**
 * Names below a wildcard are the agent's to choose: more than this many hosts are counted as one.
 */
const MAX_HOSTS = 100;
const OTHER_HOSTS = "(other hosts)";

/** Counts a turn's bytes by host, and says once that there were too many. */
export class TurnTraffic {
  readonly maxBytes: number;
  readonly #onExceeded: (reason: string) => void;
  readonly #hosts = new Map<string, HostTraffic>();
  #total = 0;

  constructor(maxBytes: number, onExceeded: (reason: string) => void) {
    this.maxBytes = maxBytes;
    this.#onExceeded = onExceeded;
  }

  get isExceeded(): boolean {
    return this.#total > this.maxBytes;
  }

  /** In the order in which they were first reached. */
  hosts(): HostTraffic[] {
    return [...this.#hosts.values()].map((host) => ({ ...host }));
  }

  /** Starts to count a connection to a host. */
  meter(name: string): TrafficMeter {
    const key = this.#hosts.has(name) || this.#hosts.size < MAX_HOSTS ? name : OTHER_HOSTS;
    const host = this.#hosts.get(key) ?? { host: key, bytesIn: 0, bytesOut: 0 };
    this.#hosts.set(key, host);
    const own: HostTraffic = { host: name, bytesIn: 0, bytesOut: 0 };
    const count = (direction: "bytesIn" | "bytesOut", bytes: number) => {
      own[direction] += bytes;
      host[direction] += bytes;
      const wasExceeded = this.isExceeded;
      this.#total += bytes;
      if (this.isExceeded && !wasExceeded) this.#onExceeded(trafficReason(this.maxBytes));
    };
    return {
      in: (bytes) => count("bytesIn", bytes),
      out: (bytes) => count("bytesOut", bytes),
      soFar: () => own,
    };
  }
}

/** Why a turn may send and receive nothing more. */
export function trafficReason(maxBytes: number): string {
  return `The turn's limit of ${maxBytes.toLocaleString("en-US")} bytes over the network is used up.`;
}

/**
 * A logger that stops, saying so, after so many lines: what an agent does must not fill the disk.
 */
export function createBoundedLogger(logger: Logger, maxLines: number): Logger {
  let lines = 0;
  function bound(inner: Logger): Logger {
    const log = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) => {
      lines += 1;
      if (lines <= maxLines) inner[level](fields, message);
      if (lines === maxLines)
        inner.warn({ lines }, "too many lines about this turn's network: no more follow");
    };
    const [debug, info, warn, error] = [log("debug"), log("info"), log("warn"), log("error")];
    return { debug, info, warn, error, child: (fields) => bound(inner.child(fields)) };
  }
  return bound(logger);
}
