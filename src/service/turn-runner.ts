import type { ServiceProject } from "./config.ts";

/** One turn of a job, as the runner gets it. */
export type RunTurnInput = {
  jobId: string;
  prompt: string;
  /** Earlier turns of the same job, oldest first. */
  earlierTurns: { prompt: string; summary: string | null }[];
  project: ServiceProject;
  /** Aborts when the service stops and the grace is over, or the job was archived. */
  signal: AbortSignal;
  /** A line for the operator: bounded, redacted. */
  onProgress: (line: string) => void;
};

/** How a turn ended. `leftOut`: what the agent changed outside the documentation globs. */
export type RunTurnResult =
  | { kind: "no-changes"; summary: string | null }
  | { kind: "pull-request"; prLink: string; summary: string | null; leftOut: string[] }
  /** The project has no code host: the branch is what there is to merge. */
  | { kind: "branch"; branch: string; commit: string; summary: string | null; leftOut: string[] }
  | { kind: "failed"; reason: string };

/**
 * Runs a turn from a clean worktree; safe to run again after a crash at any point. Rejects only with a transient error
 * (worth running again) or when aborted.
 */
export type TurnRunner = (input: RunTurnInput) => Promise<RunTurnResult>;
