import type { Logger as SlackLogger } from "@slack/bolt";
import { LogLevel } from "@slack/web-api";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";

const WINDOW_MS = 60_000;
/**
 * The most kinds of lines in a minute. Further kinds share one, because their text may come from
 * outside.
 */
const MAX_KINDS = 100;

/**
 * Writes a log line of a kind, or leaves it out. `repeated` is how many were left out since the
 * last one.
 */
export type SampleLine = (kind: string, write: (fields: { repeated?: number }) => void) => void;

/**
 * Writes the first line of each kind at once, then at most one a minute, with the number of
 * repetitions.
 */
export function createLineSampler(clock: Clock): SampleLine {
  const kinds = new Map<string, { leftOut: number; write: (fields: { repeated: number }) => void }>();

  function openWindow(kind: string): void {
    clock.wakeAt(clock.now() + WINDOW_MS, () => {
      const seen = kinds.get(kind);
      if (seen === undefined || seen.leftOut === 0) return void kinds.delete(kind);
      seen.write({ repeated: seen.leftOut });
      seen.leftOut = 0;
      openWindow(kind);
    });
  }

  return (kind, write) => {
    const name = kinds.has(kind) || kinds.size < MAX_KINDS ? kind : "";
    const seen = kinds.get(name);
    if (seen !== undefined) {
      seen.leftOut += 1;
      seen.write = write;
      return;
    }
    kinds.set(name, { leftOut: 0, write });
    write({});
    openWindow(name);
  };
}

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
    // Slack warns in each answer. `slack-work-status.ts` says it once, with what to do.
    if (fields.detail.includes("agent_session_stopped")) return;
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
