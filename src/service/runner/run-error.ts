import { DocsAgentError } from "../../errors.ts";

/** The turn could not be run now; the same turn is worth running again, because nothing of it is lost or done twice. */
export class TransientRunError extends DocsAgentError {
  readonly code = "transient_run";
  /** How long the other side asked us to wait, in milliseconds; null if it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | null } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The turn is over and failed; the message is the reason, for people. */
export class TurnFailedError extends DocsAgentError {
  readonly code = "turn_failed";
}

/** The agent's process ended before its turn was over: by its own fault, or by a signal that was not ours. */
export class AgentCutOffError extends TurnFailedError {}
