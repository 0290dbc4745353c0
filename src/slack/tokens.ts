import { WebAPIPlatformError, WebAPIRateLimitedError } from "@slack/web-api";
import { slackFault } from "../replies/slack-faults.ts";

/**
 * Codes with which Slack refuses the token itself, until an operator acts. From the lists of errors
 * at https://docs.slack.dev/reference/methods/auth.test and
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

/** Why a call to Slack failed. */
export type SlackTrouble = {
  /** Slack's error code, or the network's. */
  error: string;
  /** True if Slack refuses the token. Asking again soon gives the same answer. */
  isTokenRefused: boolean;
  /** The wait that Slack asked for, milliseconds, or 0. */
  retryAfterMs: number;
};

/** Interprets a failed read-only call as trouble with the connection to Slack. */
export function slackTrouble(thrown: unknown): SlackTrouble {
  const { error } = slackFault(thrown);
  return {
    error,
    isTokenRefused: thrown instanceof WebAPIPlatformError && TOKEN_REFUSED.has(error),
    retryAfterMs: thrown instanceof WebAPIRateLimitedError ? thrown.retryAfter * 1000 : 0,
  };
}
