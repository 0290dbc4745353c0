import { WebAPIPlatformError, WebAPIRateLimitedError } from "@slack/web-api";
import { slackFault } from "../replies/slack-faults.ts";

/**
 * By these codes Slack refuses the token itself, and goes on refusing it until an operator acts.
 * From the lists of errors at https://docs.slack.dev/reference/methods/auth.test and
 * https://docs.slack.dev/reference/methods/apps.connections.open
 */
const TOKEN_REFUSED = new Set([
  "not_authed",
  "invalid_auth",
  "account_inactive",
  "token_revoked",
  "token_expired",
  "not_allowed_token_type",
  "missing_scope",
]);

/** Why Slack could not be asked. */
export type SlackTrouble = {
  /** Slack's error code, or that of the network. */
  error: string;
  /** Slack refuses the token: asking again soon gives the same answer. */
  isTokenRefused: boolean;
  /** What Slack asked to wait for, milliseconds; 0: nothing. */
  retryAfterMs: number;
};

/** What a failed call that only asks says about the connection to Slack. */
export function slackTrouble(thrown: unknown): SlackTrouble {
  const { error } = slackFault(thrown);
  return {
    error,
    isTokenRefused: thrown instanceof WebAPIPlatformError && TOKEN_REFUSED.has(error),
    retryAfterMs: thrown instanceof WebAPIRateLimitedError ? thrown.retryAfter * 1000 : 0,
  };
}
