import type { Clock } from "../../../core/clock.ts";
import type { Redact } from "../redaction.ts";
import type { AgentSettings, EarlierTurn } from "../runner-turn.ts";
import type { TurnSandbox } from "../sandbox/sandbox.ts";

/** One run of an agent in a tree. */
export type AgentRun = {
  settings: AgentSettings;
  prompt: string;
  earlierTurns: readonly EarlierTurn[];
  /** What counts as documentation, for the agent to know. */
  docs: readonly string[];
  sandbox: TurnSandbox;
  /** The whole environment, but for what the sandbox adds. */
  env: Readonly<Record<string, string>>;
  clock: Clock;
  signal: AbortSignal;
  /** Takes lines that are bounded and clean. */
  onProgress: (line: string) => void;
  redact: Redact;
  /** Told the process group, so that it can be found after a crash. */
  onStarted: (pid: number) => Promise<void>;
};

/**
 * Runs to the agent's end and resolves to its own summary, if it gave one. Rejects with a `TurnFailedError` if the agent failed, with
 * the signal's reason when aborted. In any case the whole process group is gone.
 */
export type RunAgent = (run: AgentRun) => Promise<string | null>;

/** What is kept of a summary. */
export const MAX_SUMMARY_LENGTH = 8000;
