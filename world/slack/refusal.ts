import { DocsAgentError } from "../../src/shared/errors.ts";

/** A refusal by Slack, with `ok: false`: the `error` word, and the other fields of its body. */
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
 * Makes a refusal that lists its reasons as Slack does, in `errors` and, marked, in
 * `response_metadata.messages`.
 */
export function refusalWithMessages(error: string, messages: string[]): SlackRefusal {
  return new SlackRefusal(error, {
    errors: messages,
    response_metadata: { messages: messages.map((message) => `[ERROR] ${message}`) },
  });
}

/** Thrown if a test or a page asks for something that Slack's own client doesn't let people do. */
export class ImpossibleForAPerson extends DocsAgentError {
  readonly code = "IMPOSSIBLE_FOR_A_PERSON";
}
