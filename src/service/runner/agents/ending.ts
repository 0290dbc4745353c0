import { oneLine } from "../bounded-text.ts";
import type { Ending } from "../process-group.ts";
import { TurnFailedError } from "../run-error.ts";
import type { AgentSettings } from "../runner-turn.ts";

/** Why an agent that ended this way failed; null if it exited by itself with code 0. `words`: the end of its standard error. */
export function failureOf(ending: Ending, settings: AgentSettings, words: string): TurnFailedError | null {
  const detail = words.trim() === "" ? "" : ` Its last words: ${oneLine(words.slice(-1000), 500)}`;
  switch (ending.kind) {
    case "exited":
      if (ending.code === 0) return null;
      return new TurnFailedError(
        ending.code === null
          ? `The agent was ended by ${ending.signal ?? "a signal"}.${detail}`
          : `The agent exited with code ${ending.code}.${detail}`,
      );
    case "not-started":
      return new TurnFailedError(
        `The agent could not be started: ${ending.problem}. Check the project's agent.command.`,
      );
    case "time-limit":
      return new TurnFailedError(
        `The agent did not end within its time limit of ${settings.timeLimitMs / 60_000} min, and was stopped.`,
      );
    case "output-limit":
      return new TurnFailedError(
        `The agent wrote more than its output limit of ${settings.maxOutputBytes} bytes, and was stopped.`,
      );
    case "stopped":
      return new TurnFailedError("The agent was stopped.");
  }
}
