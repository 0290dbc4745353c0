import { uptime } from "node:os";
import { pino } from "pino";
import type { Clock, Logger } from "./ports.ts";
import { createSteadyClock } from "./steady-clock.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

type LoggerOptions = {
  level: (typeof LOG_LEVELS)[number];
  /** Texts that must never appear in a line. */
  secrets: string[];
  /** More of them, which come to be while the program runs. @default none */
  laterSecrets?: () => readonly string[];
  /** True for colored lines in a terminal instead of JSON lines. */
  pretty: boolean;
  /** The file descriptor to write to. @default 1, the standard output */
  dest?: 1 | 2;
};

/**
 * Creates a logger that writes synchronously, because the last lines before an exit matter most.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const { level, secrets, laterSecrets = () => [], pretty, dest = 1 } = options;
  // In a line, secrets appear as JSON writes them.
  const written = secrets
    .filter((secret) => secret !== "")
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  const logger: Logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        streamWrite: (line) =>
          [...laterSecrets(), ...written].reduce(
            (scrubbed, secret) => scrubbed.replaceAll(secret, "[secret]"),
            line,
          ),
      },
    },
    pretty
      ? // Loaded only for a terminal.
        (await import("pino-pretty")).PinoPretty({ colorize: true, sync: true, destination: dest })
      : pino.destination({ dest, sync: true }),
  );
  return logger;
}

/** The longest delay of `setTimeout`. A longer one fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The clock of a program on this machine. */
export function createSystemClock(): Clock {
  return createSteadyClock({
    wallMs: () => Date.now(),
    monotonicMs: createStopwatch(),
    wakeIn(ms, wake) {
      let timer: NodeJS.Timeout;
      function arm(leftMs: number): void {
        const isLong = leftMs > MAX_TIMEOUT_MS;
        timer = isLong
          ? setTimeout(() => arm(leftMs - MAX_TIMEOUT_MS), MAX_TIMEOUT_MS)
          : setTimeout(wake, leftMs);
      }
      arm(ms);
      return () => clearTimeout(timer);
    },
  });
}

/** How often to look whether the machine was asleep. A look takes some microseconds. */
const LOOK_EVERY_MS = 1_000;
/** The two are read one after the other, and the time since the start is exact to 10 ms. */
const ASLEEP_MS = 2_000;

/** Milliseconds, including those in which the machine was asleep, which Node leaves out. */
function createStopwatch(): () => number {
  let lookedAtMs = performance.now();
  let upMs = uptime() * 1000;
  let asleepMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lookedAtMs >= LOOK_EVERY_MS) {
      const nowUpMs = uptime() * 1000;
      const missedMs = nowUpMs - upMs - (nowMs - lookedAtMs);
      if (missedMs >= ASLEEP_MS) asleepMs += missedMs;
      lookedAtMs = nowMs;
      upMs = nowUpMs;
    }
    return nowMs + asleepMs;
  };
}
