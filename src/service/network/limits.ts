import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "../../shared/machine/ports.ts";

/** Limits of a turn's network that no setting changes. */
export const NETWORK_LIMITS = {
  /** The most connections from the agent at once. Further ones are closed. */
  connections: 128,
  /** A connection to a host is closed if no byte arrives for this long. */
  idleMs: 2 * 60_000,
  /** The longest time to connect to a host or a model upstream. */
  connectMs: 10_000,
  /** The most bytes of request lines and headers. */
  headerBytes: 16 * 1024,
  /** The most model calls at once. Further ones wait. */
  modelCalls: 8,
  /** The most bytes of a model call's body. */
  modelRequestBytes: 8 * 1024 ** 2,
  /** The longest time for that body to arrive. It comes from this machine. */
  modelRequestMs: 30_000,
  /** The most bytes of an answer to a model call. */
  modelAnswerBytes: 64 * 1024 ** 2,
  /** The longest time until a model begins to answer. Some think for minutes before they do. */
  modelHeadersMs: 10 * 60_000,
  /** The longest pause in a model's answer. */
  modelPauseMs: 5 * 60_000,
  /** The most lines in the log. */
  logLines: 2000,
};
export type NetworkLimits = typeof NETWORK_LIMITS;

/** The folder for sockets in the data folder. */
export const SOCKETS_FOLDER = "net";
/** The same for the model door, whose sockets no runner may remove. As short as the other. */
export const DOOR_FOLDER = "llm";
/** The most bytes in a socket's path, without the final zero (unix(7)). */
export const MAX_SOCKET_PATH_BYTES = 107;
/** With a longer path, its sockets couldn't be listened at. */
export const MAX_DATA_DIR_BYTES = MAX_SOCKET_PATH_BYTES - newSocketPath(`/${SOCKETS_FOLDER}`).length;

/** A path in `folder` that no other socket has. */
export function newSocketPath(folder: string): string {
  return join(folder, randomBytes(6).toString("base64url"));
}

/** The bytes of a connection, without the overhead of TLS and of the proxy's headers. */
type Traffic = { bytesIn: number; bytesOut: number };

/** Counts the bytes of one connection. */
export type TrafficMeter = { in(bytes: number): void; out(bytes: number): void; soFar: Traffic };

/** Counts a turn's bytes, and reports once if there are too many. */
export class TurnTraffic {
  readonly maxBytes: number;
  readonly #onExceeded: (reason: string) => void;
  /** Of all connections, including those to model upstreams. */
  readonly total: Traffic = { bytesIn: 0, bytesOut: 0 };

  constructor(maxBytes: number, onExceeded: (reason: string) => void) {
    this.maxBytes = maxBytes;
    this.#onExceeded = onExceeded;
  }

  get isExceeded(): boolean {
    return this.total.bytesIn + this.total.bytesOut > this.maxBytes;
  }

  /** Begins to count a connection. */
  meter(): TrafficMeter {
    const soFar: Traffic = { bytesIn: 0, bytesOut: 0 };
    const count = (direction: keyof Traffic, bytes: number) => {
      const wasExceeded = this.isExceeded;
      soFar[direction] += bytes;
      this.total[direction] += bytes;
      if (this.isExceeded && !wasExceeded) this.#onExceeded(trafficReason(this.maxBytes));
    };
    return { in: (bytes) => count("bytesIn", bytes), out: (bytes) => count("bytesOut", bytes), soFar };
  }
}

/** Why a turn may not send or receive any more. */
export function trafficReason(maxBytes: number): string {
  return `The turn's limit of ${maxBytes.toLocaleString("en-US")} bytes over the network is used up.`;
}

/** The levels at which a turn's network logs. */
export type TurnLogger = Pick<Logger, "info" | "warn" | "error">;

/**
 * A logger that stops after this many lines, and says so. An agent must not be able to fill the
 * disk.
 */
export function createBoundedLogger(logger: TurnLogger, maxLines: number): TurnLogger {
  let lines = 0;
  const log = (level: keyof TurnLogger) => (fields: object, message: string) => {
    lines += 1;
    if (lines <= maxLines) logger[level](fields, message);
    if (lines === maxLines) {
      logger.warn({ lines }, "too many lines about this turn's network: no more follow");
    }
  };
  return { info: log("info"), warn: log("warn"), error: log("error") };
}
