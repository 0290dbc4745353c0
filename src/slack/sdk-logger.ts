import type { Logger as SlackLogger } from "@slack/bolt";
import { LogLevel } from "@slack/web-api";
import type { Logger } from "../core/ports/logger.ts";
import type { SampleLine } from "./line-sampler.ts";

/**
 * Turns the Slack packages' log lines into ours. Debug lines are always dropped, because they hold
 * message bodies and one-time connection URLs. The others are sampled: an outage or an outsider can
 * cause thousands.
 */
export function slackLogger(logger: Logger, sample: SampleLine): SlackLogger {
  const line = (parts: unknown[]) => ({
    from: "slack-sdk",
    detail: parts.map(String).join(" ").slice(0, 1000),
  });
  function write(level: "warn" | "error", parts: unknown[]): void {
    const fields = line(parts);
    // Lines that differ only in numbers count as the same.
    const kind = `${level} ${fields.detail.slice(0, 200).replaceAll(/\d+/g, "0")}`;
    sample(kind, (repeated) => logger[level]({ ...fields, ...repeated }, "slack sdk"));
  }
  return {
    debug: () => {},
    info: (...parts) => logger.debug(line(parts), "slack sdk"),
    warn: (...parts) => write("warn", parts),
    error: (...parts) => write("error", parts),
    setLevel: () => {},
    getLevel: () => LogLevel.INFO,
    setName: () => {},
  };
}
