import { LogLevel, type Logger } from "@slack/bolt";

/**
 * A logger for Bolt and Slack's clients that drops everything, to keep the tests' output readable.
 */
export const silentSlackLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};
