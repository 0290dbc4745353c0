import { pino } from "pino";
import type { Clock, Logger } from "../core/ports/process.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

type LoggerOptions = {
  level: (typeof LOG_LEVELS)[number];
  /** Texts that must never appear in a line. */
  secrets: string[];
  /** More of them, which come to be while the program runs. @default none */
  laterSecrets?: () => readonly string[];
  /** True for coloured lines in a terminal instead of JSON lines. */
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

/** The machine's clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    wakeAt(atMs, wake) {
      let timer: NodeJS.Timeout;
      function arm(): void {
        const left = atMs - Date.now();
        timer = left > MAX_TIMEOUT_MS ? setTimeout(arm, MAX_TIMEOUT_MS) : setTimeout(wake, Math.max(0, left));
      }
      arm();
      return () => clearTimeout(timer);
    },
  };
}
