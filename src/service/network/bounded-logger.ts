import type { Logger } from "../../core/logger.ts";

/** A logger that stops, saying so, after so many lines: what an agent does must not fill the disk. */
export function createBoundedLogger(logger: Logger, maxLines: number): Logger {
  let lines = 0;
  function bound(inner: Logger): Logger {
    function log(level: "debug" | "info" | "warn" | "error", fields: object, message: string): void {
      lines += 1;
      if (lines <= maxLines) inner[level](fields, message);
      if (lines === maxLines)
        inner.warn({ lines }, "too many lines about this turn's network: no more follow");
    }
    return {
      debug: (fields, message) => log("debug", fields, message),
      info: (fields, message) => log("info", fields, message),
      warn: (fields, message) => log("warn", fields, message),
      error: (fields, message) => log("error", fields, message),
      child: (fields) => bound(inner.child(fields)),
    };
  }
  return bound(logger);
}
