/** Bytes that went to and came from one host, without what TLS and headers of the proxy add. */
export type HostTraffic = { host: string; bytesIn: number; bytesOut: number };

/** Counts for one connection. */
export type TrafficMeter = { in(bytes: number): void; out(bytes: number): void; soFar(): HostTraffic };

/** Names below a wildcard are the agent's to choose: more than this many hosts are counted as one. */
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
