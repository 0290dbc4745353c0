import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { messageOf } from "../errors.ts";
import { within, type Clock, type Logger } from "./ports.ts";

/** The value of a gauge under some labels. */
export type Reading = { labels?: Record<string, string>; value: number };

type GaugeOptions = {
  name: string;
  help: string;
  labelNames?: string[];
  /** Called at each scrape. If it rejects or takes too long, the gauge has no value. */
  read: () => readonly Reading[] | Promise<readonly Reading[]>;
};

/** The shortest time between two scrapes that is common. */
const FRESH_MS = 10_000;
/** Prometheus waits ten seconds for a whole scrape. */
const READ_WITHIN_MS = 5_000;

/** A registry of one program's metrics, with those of its process. */
export function createRegistry(program: "app" | "service"): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ program });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Adds a counter. */
export function addCounter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [registry] });
}

/** Adds a histogram of times. What is returned takes each, in milliseconds. */
export function addTimes(
  registry: Registry,
  { name, help, buckets }: { name: string; help: string; buckets: number[] },
): (ms: number) => void {
  const times = new Histogram({ name, help, buckets, registers: [registry] });
  // The clock may have been set back while the program was off.
  return (ms) => times.observe(Math.max(0, ms) / 1000);
}

/** Adds a gauge that is read when it is scraped. A fault is logged once, and fails no scrape. */
export function addGauge(
  registry: Registry,
  { name, help, labelNames = [], read }: GaugeOptions,
  { clock, logger }: { clock: Clock; logger: Logger },
): void {
  let isFailing = false;
  async function readings(): Promise<readonly Reading[]> {
    try {
      const found = await within(clock, READ_WITHIN_MS, Promise.resolve(read()), null);
      if (found === null) throw new Error(`it took more than ${READ_WITHIN_MS / 1000} s`);
      isFailing = false;
      return found;
    } catch (thrown) {
      if (!isFailing) logger.warn({ metric: name, error: messageOf(thrown) }, "a metric can't be read");
      isFailing = true;
      return [];
    }
  }
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const found = await readings();
      gauge.reset();
      // `reset` makes a gauge without labels 0.
      if (labelNames.length === 0) gauge.remove();
      for (const { labels = {}, value } of found) gauge.set(labels, value);
    },
  });
}

/**
 * Reads something again once it is older than `freshMs`, so that scrapes can't become a load. What
 * failed is read anew.
 */
export function sharedRead<T>(
  clock: Pick<Clock, "monotonicMs">,
  read: () => T | Promise<T>,
  freshMs = FRESH_MS,
): () => Promise<T> {
  let last: { atMs: number; value: Promise<T> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last !== null && nowMs - last.atMs < freshMs) return last.value;
    const value = Promise.resolve().then(read);
    const reading = { atMs: nowMs, value };
    last = reading;
    value.catch(() => {
      if (last === reading) last = null;
    });
    return value;
  };
}
