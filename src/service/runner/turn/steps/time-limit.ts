import { within } from "../../../../shared/machine/ports.ts";
import { faultText } from "../../../base/run-error.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import type { Mirror } from "../../workspace/git/mirror.ts";
import type { TurnContext } from "../../turn-context.ts";

/** A time for several things, of which each may come to nothing. */
export type TimeLimit = {
  /** Null if it fails or isn't there in time. Rejects if aborted. */
  inTime<T>(asked: Promise<T>): Promise<T | null>;
  /** The same with a mirror in use. Waiting for it doesn't count. */
  inMirror<T>(mirror: Mirror, act: (git: GitRunner) => Promise<T>): Promise<T | null>;
};

/** Starts the time. What fails is logged as sources that can't be read. */
export function createTimeLimit(
  limitMs: number,
  { signal, logger, redact, clock }: Pick<TurnContext, "signal" | "logger" | "redact" | "clock">,
): TimeLimit {
  let untilMs = clock.monotonicMs() + limitMs;
  function inTime<T>(asked: Promise<T>): Promise<T | null> {
    const known = asked.catch((error: unknown) => {
      signal.throwIfAborted();
      logger.warn({ problem: redact(faultText(error)) }, "the agent's sources could not be read");
      return null;
    });
    return within(clock, untilMs - clock.monotonicMs(), known, null);
  }
  return {
    inTime,
    inMirror: (mirror, act) => {
      const askedAtMs = clock.monotonicMs();
      return mirror.use((git) => {
        // Another turn may have fetched for many minutes until now.
        untilMs += clock.monotonicMs() - askedAtMs;
        return clock.monotonicMs() < untilMs ? inTime(act(git)) : Promise.resolve(null);
      });
    },
  };
}
