import type { FailureCause } from "../../src/core/ports/job-report.ts";
import { codeOf, DocsAgentError, messageOf } from "../../src/core/errors.ts";

/**
 * Why a turn could not be run: the message is the reason, for people. `details` are lines for the
 * operator: what to do, and what a program said.
 */
export abstract class RunError extends DocsAgentError {
  readonly details: readonly string[];

  constructor(message: string, { details = [], ...options }: ErrorOptions & { details?: readonly string[] }) {
    super(message, options);
    this.details = details.filter((line) => line.trim() !== "");
  }
}

/**
 * The turn could not be run now; the same turn is worth running again, because nothing of it is
 * lost or done twice.
 */
export class TransientRunError extends RunError {
  readonly code = "transient_run";
  /** How long the other side asked us to wait, in milliseconds; null if it did not say. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    options: ErrorOptions & { retryAfterMs?: number | null; details?: readonly string[] } = {},
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The turn is over and failed. */
export class TurnFailedError extends RunError {
  readonly code = "turn_failed";
  /** What a client can act on; null: nothing. */
  readonly failureCause: FailureCause | null;

  constructor(
    message: string,
    options: ErrorOptions & { details?: readonly string[]; failureCause?: FailureCause | null } = {},
  ) {
    super(message, options);
    this.failureCause = options.failureCause ?? null;
  }
}

/** The details of a failure, for the operator; none for other errors. */
export function detailsOf(error: unknown): readonly string[] {
  return error instanceof RunError ? error.details : [];
}

/** What is wrong, without the paths that Node.js names in the errors of the system. */
export function faultText(error: unknown): string {
  const code = codeOf(error);
  if (code === null || !(error instanceof Error) || !("syscall" in error)) return messageOf(error);
  return `${String(error.syscall)} failed (${code})`;
}

/** True if something failed because the disk is full, as we or git say it. */
export function isNoRoom(error: unknown): boolean {
  return /\b(?:ENOSPC|EDQUOT)\b|No space left|Disk quota exceeded/.test(operatorText(error));
}

/** All that an error says, for the operator. */
export function operatorText(error: unknown): string {
  return [messageOf(error), ...detailsOf(error)].join(" ");
}

/**
 * The agent's process ended before its turn was over: by its own fault, or by a signal that was not
 * ours.
 */
export class AgentCutOffError extends TurnFailedError {}
