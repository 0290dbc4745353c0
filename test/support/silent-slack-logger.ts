import { LogLevel, type Logger } from "@slack/bolt";

/** For Bolt and Slack's clients in tests: keeps the output free of what they log. */
export const silentSlackLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};
