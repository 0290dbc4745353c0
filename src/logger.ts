import { pino } from "pino";
import type { Logger } from "./core/logger.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

type LoggerOptions = {
  level: (typeof LOG_LEVELS)[number];
  /** Never to appear in a line, whatever it comes in. */
  secrets: string[];
  /** Coloured lines for a terminal instead of JSON lines. */
  pretty: boolean;
};

/** Logs to standard output, one line each, synchronously: the last lines before an exit are the ones that matter. */
export async function createLogger({ level, secrets, pretty }: LoggerOptions): Promise<Logger> {
  // Secrets inside a JSON string look as JSON writes them.
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
          written.reduce((scrubbed, secret) => scrubbed.replaceAll(secret, "[secret]"), line),
      },
    },
    pretty ? await prettyDestination() : pino.destination({ dest: 1, sync: true }),
  );
  return logger;
}

/** Loaded only for a terminal. */
async function prettyDestination() {
  const { PinoPretty } = await import("pino-pretty");
  return PinoPretty({ colorize: true, sync: true });
}
