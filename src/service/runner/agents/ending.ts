import { endOf, oneLine } from "../../printable-text.ts";
import type { Ending } from "../process-group.ts";
import { AgentCutOffError, TransientRunError, TurnFailedError } from "../run-error.ts";
import type { AgentSettings } from "../runner-turn.ts";

const MAX_LAST_WORDS_LENGTH = 500;
const MAX_REFUSED_SHOWN = 5;
/** The machine has none left of what a start takes. */
const SHORTAGE = /\b(?:EMFILE|ENFILE|EAGAIN|ENOMEM)\b/;

/** The end of what the agent wrote to its standard error, in a line for the operator; none if it says no more than `said`. */
export function lastWordsOf(words: string, said = ""): string[] {
  const line = oneLine(words, Infinity);
  const isNew = line !== "" && (said === "" || !line.includes(said));
  return isNew ? [`last words: ${endOf(line, MAX_LAST_WORDS_LENGTH)}`] : [];
}

/** What an agent was refused, as a sentence; null if nothing was. */
export function refusedText(refused: readonly string[]): string | null {
  if (refused.length === 0) return null;
  const shown = refused.slice(0, MAX_REFUSED_SHOWN).join("; ");
  const more = refused.length > MAX_REFUSED_SHOWN ? `; and ${refused.length - MAX_REFUSED_SHOWN} more` : "";
  return `The agent wanted to do what it may not do here, and was refused: ${shown}${more}.`;
}

/** Why an agent that ended this way failed; null if it exited by itself with code 0. `words`: the end of its standard error. */
export function failureOf(
  ending: Ending,
  settings: AgentSettings,
  words: string,
): TurnFailedError | TransientRunError | null {
  const details = lastWordsOf(words);
  switch (ending.kind) {
    case "exited":
      if (ending.code === 0) return null;
      return new AgentCutOffError(
        ending.code === null
          ? `The agent was ended by ${ending.signal ?? "a signal"}.`
          : `The agent exited with code ${ending.code}.`,
        { details },
      );
    case "not-started":
      if (SHORTAGE.test(ending.problem)) {
        return new TransientRunError("The agent couldn't be started.", { details: [`${ending.problem}.`] });
      }
      return new TurnFailedError("The agent couldn't be started.", {
        details: [`${ending.problem}. Check agent.command.`],
      });
    case "time-limit":
      return new TurnFailedError(`The agent reached its ${settings.timeLimitMs / 60_000}-minute limit.`, {
        failureCause: "time-limit",
      });
    case "output-limit":
      return new TurnFailedError(
        `The agent wrote more than its output limit of ${settings.maxOutputBytes} bytes, and was stopped.`,
      );
    case "stopped":
      return new TurnFailedError("The agent was stopped.");
  }
}
