import { DocsAgentError } from "../../src/shared/errors.ts";

/** What Slack answers with `ok: false`: the `error` word, and whatever else its body carries. */
export class SlackRefusal extends DocsAgentError {
  readonly code = "SLACK_REFUSAL";
  /** Slack's `error` word, such as `channel_not_found`. */
  readonly error: string;
  readonly details: Record<string, unknown>;

  constructor(error: string, details: Record<string, unknown> = {}) {
    super(`Slack refuses this call: ${error}. The details say what to change in the call.`);
    this.error = error;
    this.details = details;
  }
}

/**
 * A refusal that lists its reasons as Slack does: in `errors` and, marked, in
 * `response_metadata.messages`.
 */
export function refusalWithMessages(error: string, messages: string[]): SlackRefusal {
  return new SlackRefusal(error, {
    errors: messages,
    response_metadata: { messages: messages.map((message) => `[ERROR] ${message}`) },
  });
}

/** Thrown when a test or a page asks for something Slack's own client would not let a person do. */
export class ImpossibleForAPerson extends DocsAgentError {
  readonly code = "IMPOSSIBLE_FOR_A_PERSON";
}
