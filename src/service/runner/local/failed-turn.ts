import { DocsAgentError } from "../../../shared/errors.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import {
  AgentCutOffError,
  detailsOf,
  faultText,
  TransientRunError,
  TurnFailedError,
} from "../../base/run-error.ts";
import type { RunTurnResult } from "../runner.ts";

const MAX_REASON_LENGTH = 2000;
const MAX_DETAIL_LENGTH = 1000;

/**
 * The result of a turn that ended with this error, bounded and redacted. Throws a
 * `TransientRunError` if running it again may help, and the signal's reason if that has aborted.
 */
export function failedTurn(
  error: unknown,
  { signal, redact, logger }: { signal: AbortSignal; redact: Redact; logger: Logger },
): RunTurnResult {
  signal.throwIfAborted();
  const reason = redactedLine(redact, faultText(error), MAX_REASON_LENGTH);
  const details = detailsOf(error).map((line) => redactedLine(redact, line, MAX_DETAIL_LENGTH));
  if (error instanceof TurnFailedError) {
    return {
      kind: "failed",
      reason,
      ...(error.failureCause !== null && { cause: error.failureCause }),
      ...(details.length > 0 && { details }),
      ...(error instanceof AgentCutOffError && { isCutOff: true }),
    };
  }
  if (error instanceof TransientRunError) {
    const { retryAfterMs } = error;
    throw new TransientRunError(reason, { cause: error, retryAfterMs, details });
  }
  // A full disk, a missing program, or a bug of ours. The turn didn't cause it, so it may be tried
  // again. The cause isn't passed on, because its message isn't redacted.
  logger.error(
    { problem: reason, code: error instanceof DocsAgentError ? error.code : null },
    "turn broke off",
  );
  throw new TransientRunError("The turn broke off.", { details: [reason] });
}
