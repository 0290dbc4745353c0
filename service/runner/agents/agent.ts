import type { AgentSession } from "../kept-sessions.ts";
import type { TurnSandbox } from "../sandbox/sandbox.ts";
import type { AgentSettings, RunContext, RunnerTurn } from "../turn.ts";
import type { Brief } from "./brief.ts";
import type { PlacedAttachment } from "./attachments.ts";

/** One run of an agent in a tree. */
export type AgentRun = {
  settings: AgentSettings;
  attachments: readonly PlacedAttachment[];
  /**
   * A session of an earlier turn, or of this one's first round, whose files are in `HOME`; null:
   * none was kept.
   */
  kept: AgentSession | null;
  /** What the project's checks found in what the first round did; empty in the first round. */
  findings: string;
  brief: Brief;
  /** Where it finds the context repositories; null: there are none. */
  contextFolder: string | null;
  sandbox: TurnSandbox;
  /** The whole environment, but for what the sandbox adds. */
  env: Readonly<Record<string, string>>;
  /** Takes lines that are bounded and clean. */
  onProgress: (line: string) => void;
  /** Told what the policy, or a person, did not allow: a bounded, clean line. */
  onRefused: (what: string) => void;
  /** Told the process group, so that it can be found after a crash. */
  onStarted: (pid: number) => Promise<void>;
} & Pick<RunnerTurn, "number" | "prompt" | "earlierTurns"> &
  Pick<RunContext, "clock" | "signal" | "redact" | "onBrief" | "onStep" | "onPlan" | "onUsage" | "ask">;

/**
 * Where an agent may look or write besides the tree: what came with the request and its sources,
 * and the context repositories.
 */
export function foldersBesideTree({ sandbox, contextFolder }: AgentRun): string[] {
  return [sandbox.inside.tmp, ...(contextFolder === null ? [] : [contextFolder])];
}

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
 * Runs to the agent's end. Rejects with a `TurnFailedError` if the agent failed, with a
 * `TransientRunError` if it couldn't begin with what was kept, with the signal's reason when
 * aborted. In any case the whole process group is gone.
 */
export type RunAgent = (run: AgentRun) => Promise<AgentResult>;

/** What is kept of a summary. */
export const MAX_SUMMARY_LENGTH = 8000;
