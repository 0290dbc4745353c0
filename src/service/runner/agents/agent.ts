import type { Clock } from "../../../core/clock.ts";
import type { RunTurnInput } from "../../turn-runner.ts";
import type { AgentSession } from "../kept-sessions.ts";
import type { PlacedAttachment } from "../place-attachments.ts";
import type { StartProcessGroup } from "../process-group.ts";
import type { Redact } from "../redaction.ts";
import type { EarlierTurn } from "../../turn-runner.ts";
import type { AgentSettings } from "../runner-turn.ts";
import type { TurnSandbox } from "../sandbox/sandbox.ts";

/** One run of an agent in a tree. */
export type AgentRun = {
  settings: AgentSettings;
  /** The turn's number in its job. */
  number: number;
  prompt: string;
  attachments: readonly PlacedAttachment[];
  /** The newest of them. The last one comes right before this turn. */
  earlierTurns: readonly EarlierTurn[];
  /** A session of an earlier turn, whose files are in `HOME`; null: none was kept. */
  kept: AgentSession | null;
  /** What counts as documentation, for the agent to know. */
  docs: readonly string[];
  sandbox: TurnSandbox;
  /** Starts what the sandbox contains. */
  start: StartProcessGroup;
  /** The whole environment, but for what the sandbox adds. */
  env: Readonly<Record<string, string>>;
  clock: Clock;
  signal: AbortSignal;
  /** Takes lines that are bounded and clean. */
  onProgress: (line: string) => void;
  /** Told what the policy, or a person, did not allow: a bounded, clean line. */
  onRefused: (what: string) => void;
  redact: Redact;
  /** Told the process group, so that it can be found after a crash. */
  onStarted: (pid: number) => Promise<void>;
} & Pick<RunTurnInput, "onStep" | "onPlan" | "onUsage" | "ask">;

/** How an agent that did not fail ended. Texts are bounded and redacted. */
export type AgentResult = {
  /** Its own, if it gave one. */
  summary: string | null;
  /** What it asked to be allowed and was refused. */
  refused: string[];
  /** What its next turn can resume, with the files in `HOME`; null if it doesn't offer that. */
  session: AgentSession | null;
};

/**
 * Runs to the agent's end. Rejects with a `TurnFailedError` if the agent failed, with a `TransientRunError` if it couldn't begin with what
 * was kept, with the signal's reason when aborted. In any case the whole process group is gone.
 */
export type RunAgent = (run: AgentRun) => Promise<AgentResult>;

/** What is kept of a summary. */
export const MAX_SUMMARY_LENGTH = 8000;
