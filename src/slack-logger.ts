import type { Logger as SlackLogger } from "@slack/bolt";
import { LogLevel } from "@slack/bolt";
import type { Logger } from "./core/logger.ts";

/**
 * The Slack packages' own lines, as ours. Their debug lines hold message bodies and one-time connection URLs, so they are
 * dropped whatever the level.
 */
export function slackLogger(logger: Logger): SlackLogger {
  const line = (parts: unknown[]) => ({
    from: "slack-sdk",
    detail: parts.map(String).join(" ").slice(0, 1000),
  });
  return {
    debug: () => {},
    info: (...parts) => logger.debug(line(parts), "slack sdk"),
    warn: (...parts) => logger.warn(line(parts), "slack sdk"),
    error: (...parts) => logger.error(line(parts), "slack sdk"),
    setLevel: () => {},
    getLevel: () => LogLevel.INFO,
    setName: () => {},
  };
}
