import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from "@slack/web-api";
import type { NotifierFault } from "../core/notifier.ts";
import { messageOf } from "../errors.ts";

/** Slack's own trouble: it did not do what was asked, or (`fatal_error`, `internal_error`) may have done a part of it. */
const NOT_DONE = new Set([
  "ratelimited",
  "rate_limited",
  "accesslimited",
  "service_unavailable",
  "team_added_to_org",
]);
const MAYBE_DONE = new Set(["internal_error", "fatal_error", "request_timeout"]);

/** What only the operator can mend: a token that is not accepted, a scope that was not granted. */
const CREDENTIALS = new Set([
  "not_authed",
  "invalid_auth",
  "account_inactive",
  "token_revoked",
  "token_expired",
  "missing_scope",
  "not_allowed_token_type",
  "org_login_required",
]);

/** The connection was never made, so Slack never saw the request. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * What a failed Web API call means for a delivery. Every error code that is neither Slack's own trouble nor a matter of
 * credentials says that this channel or thread cannot take the message.
 */
export function slackFault(thrown: unknown): NotifierFault {
  if (thrown instanceof WebAPIRateLimitedError) {
    return { kind: "not-sent", retryAfterMs: thrown.retryAfter * 1000, error: "ratelimited" };
  }
  if (thrown instanceof WebAPIPlatformError) return platformFault(thrown.data.error);
  if (thrown instanceof WebAPIHTTPError) {
    return { kind: thrown.statusCode >= 500 ? "unknown" : "not-sent", error: `http_${thrown.statusCode}` };
  }
  if (thrown instanceof WebAPIRequestError) {
    const code = errorCode(thrown.original);
    return { kind: NEVER_CONNECTED.has(code) ? "not-sent" : "unknown", error: code };
  }
  // A 429 without a readable Retry-After is thrown as a bare Error by web-api 8.2 (WebClient.makeRequest).
  if (messageOf(thrown).startsWith("Retry header did not contain")) {
    return { kind: "not-sent", retryAfterMs: 30_000, error: "ratelimited" };
  }
  return { kind: "unknown", error: messageOf(thrown).slice(0, 200) };
}

function platformFault(error: string): NotifierFault {
  // A body that is no JSON becomes the "error code" as a whole (WebClient.buildResult).
  if (!/^[a-z0-9_]{1,100}$/i.test(error)) return { kind: "unknown", error: "unreadable_answer" };
  if (NOT_DONE.has(error)) return { kind: "not-sent", error };
  if (MAYBE_DONE.has(error)) return { kind: "unknown", error };
  if (CREDENTIALS.has(error)) return { kind: "credentials", error };
  return { kind: "place", error };
}

/** Codes by which Slack says that it does not like a message's content, not where it goes. */
export function isContentRefused(thrown: unknown): boolean {
  if (!(thrown instanceof WebAPIPlatformError)) return false;
  return [
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_too_long",
    "invalid_arguments",
    "invalid_attachments",
  ].includes(thrown.data.error);
}

function errorCode(error: Error): string {
  const { cause } = error;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.name;
}
