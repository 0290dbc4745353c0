import { presetArgs, presetOf } from "../../config/agent-presets.ts";
import { endOf, oneLine, printableText } from "../../base/printable-text.ts";
import {
  createTail,
  type Ending,
  type ProcessOptions,
  startProcessGroup,
} from "../workspace/process-group.ts";
import { AgentCutOffError, TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import type { ServiceProject } from "../../config/config.ts";
import { type AgentRun, foldersBesideTree } from "./agent.ts";

/** How much of standard error is kept for the reason of a failure, in bytes. */
const MAX_LAST_WORDS_BYTES = 4000;
const MAX_LAST_WORDS_LENGTH = 500;
/** The machine has run out of something that a start needs. */
const SHORTAGE = /\b(?:EMFILE|ENFILE|EAGAIN|ENOMEM)\b/;

/**
 * Starts the agent's program, contained and within its limits, and notes that it is running. If
 * that can't be noted, stops it.
 */
export async function startAgent(run: AgentRun, onStdout: ProcessOptions["onStdout"]) {
  const { settings, sandbox } = run;
  const [command = "", ...own] = settings.command;
  const preset = presetOf(settings);
  const args = [...own, ...(preset === null ? [] : presetArgs(preset, foldersBesideTree(run)))];
  const words = createTail(MAX_LAST_WORDS_BYTES);
  const all = createTail(MAX_LAST_WORDS_BYTES);
  const group = startProcessGroup({
    ...sandbox.contain({ command, args }, run.env),
    timeLimitMs: settings.timeLimitMinutes * 60_000,
    maxOutputBytes: settings.maxOutputBytes,
    clock: run.clock,
    signal: run.signal,
    onStdout: (chunk) => {
      all.add(chunk);
      return onStdout(chunk);
    },
    onStderr: (chunk) => {
      all.add(chunk);
      words.add(chunk);
    },
  });
  try {
    if (group.pid !== undefined) await run.onStarted(group.pid);
  } catch (error) {
    await group.stop();
    throw error;
  }
  return {
    group,
    lastWords: () => run.redact(words.text()),
    /** The last line that it has printed, not redacted. */
    lastLine: () => printableText(all.text()).trim().split("\n").at(-1) ?? "",
  };
}

/**
 * The end of the agent's standard error, in one line for the operator. Empty if it says no more
 * than `said`.
 */
export function lastWordsOf(words: string, said = ""): string[] {
  const line = oneLine(words, Infinity);
  const isNew = line !== "" && (said === "" || !line.includes(said));
  return isNew ? [`last words: ${endOf(line, MAX_LAST_WORDS_LENGTH)}`] : [];
}

/**
 * Why an agent that ended this way failed. Null if it exited by itself with code 0. `words` is the
 * end of its standard error.
 */
export function failureOf(
  ending: Ending,
  settings: Pick<ServiceProject["agent"], "timeLimitMinutes" | "maxOutputBytes">,
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
      return new TurnFailedError(`The agent reached its ${settings.timeLimitMinutes}-minute limit.`, {
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
