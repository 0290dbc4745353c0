import type { FailureCause } from "../../shared/contract/turn.ts";
import { codeOf, DocsAgentError, messageOf } from "../../shared/errors.ts";

type RunErrorOptions = ErrorOptions & { details?: readonly string[] };

/**
 * Why a turn couldn't be run. The message is the reason, for people. `details` are lines for the
 * operator: what to do, and what a program said.
 */
export abstract class RunError extends DocsAgentError {
  readonly details: readonly string[];

  constructor(message: string, { details = [], ...options }: RunErrorOptions) {
    super(message, options);
    this.details = details.filter((line) => line.trim() !== "");
  }
}

/** The turn couldn't be run now. Running it again is safe: nothing is lost or done twice. */
export class TransientRunError extends RunError {
  readonly code = "transient_run";
  /** How long the other side asked us to wait, in milliseconds; null if it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: RunErrorOptions & { retryAfterMs?: number | null } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The turn is over and failed. */
export class TurnFailedError extends RunError {
  readonly code = "turn_failed";
  /** What the requester can do something about, or null. */
  readonly failureCause: FailureCause | null;

  constructor(message: string, options: RunErrorOptions & { failureCause?: FailureCause | null } = {}) {
    super(message, options);
    this.failureCause = options.failureCause ?? null;
  }
}

/** The details of a failure, for the operator. Empty for other errors. */
export function detailsOf(error: unknown): readonly string[] {
  return error instanceof RunError ? error.details : [];
}

/** What is wrong, without the paths that Node.js puts into system errors. */
export function faultText(error: unknown): string {
  const code = codeOf(error);
  if (code === null || !(error instanceof Error) || !("syscall" in error)) return messageOf(error);
  return `${String(error.syscall)} failed (${code})`;
}

/** True if something failed because the disk is full, whether we or git noticed. */
export function isNoRoom(error: unknown): boolean {
  return /\b(?:ENOSPC|EDQUOT)\b|No space left|Disk quota exceeded/.test(operatorText(error));
}

/** Everything that an error says, for the operator. */
export function operatorText(error: unknown): string {
  return [messageOf(error), ...detailsOf(error)].join(" ");
}

/**
 * The agent's process ended before its turn was over: by its own fault, or by a signal that we
 * didn't send.
 */
export class AgentCutOffError extends TurnFailedError {}
