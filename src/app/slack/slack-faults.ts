import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from "@slack/web-api";
import type { NotifierFault } from "../rules/ports/notifier.ts";
import { cut } from "../../shared/text/text.ts";
import { codeOf, codeOrNameOf, messageOf } from "../../shared/errors.ts";
import { CONTENT_REFUSED, CREDENTIALS, FINAL, NOT_DONE, type CallPurpose } from "./slack-error-codes.ts";

/** Longer waits are a mistake or a trick, so we ask again earlier. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;
/** For a 429 that doesn't say how long to wait. */
const DEFAULT_RETRY_AFTER_MS = 30_000;

/** The connection was never made, so Slack never saw the request. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_PROXY_CONNECT",
]);

/**
 * Interprets a failed Web API call. Only codes listed for the call's purpose are final. An unlisted
 * code is temporary and may have had an effect.
 */
export function slackFault(thrown: unknown, purpose: CallPurpose = "other"): NotifierFault {
  if (thrown instanceof WebAPIRateLimitedError) return rateLimited(thrown.retryAfter * 1000);
  if (thrown instanceof WebAPIPlatformError) return platformFault(thrown.data.error, purpose);
  if (thrown instanceof WebAPIHTTPError) return httpFault(thrown.statusCode);
  if (thrown instanceof WebAPIRequestError) return networkFault(thrown.original);
  // web-api 8.2 throws a bare Error for a 429 whose Retry-After it cannot read
  // (WebClient.makeRequest).
  if (messageOf(thrown).startsWith("Retry header did not contain"))
    return rateLimited(DEFAULT_RETRY_AFTER_MS);
  return { kind: "unknown", error: cut(messageOf(thrown), 200) };
}

/** A 429: nothing was done. */
export function rateLimited(retryAfterMs: number): NotifierFault {
  const waitMs = Number.isFinite(retryAfterMs) ? retryAfterMs : DEFAULT_RETRY_AFTER_MS;
  return {
    kind: "not-sent",
    retryAfterMs: Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS),
    error: "ratelimited",
  };
}

/**
 * Interprets an HTTP status without an answer by Slack's API. It came from Slack's edge or from a
 * proxy.
 */
export function httpFault(status: number): NotifierFault {
  const isRefused = status >= 400 && status < 500 && status !== 408;
  return { kind: isRefused ? "not-sent" : "unknown", error: `http_${status}` };
}

/** Interprets a call without an answer. */
export function networkFault(thrown: unknown): NotifierFault {
  const code = (thrown instanceof Error ? codeOf(thrown.cause) : null) ?? codeOrNameOf(thrown);
  return { kind: NEVER_CONNECTED.has(code) ? "not-sent" : "unknown", error: code };
}

function platformFault(error: string, purpose: CallPurpose): NotifierFault {
  // The whole body becomes the "error code" if it isn't JSON (WebClient.buildResult).
  if (!/^[a-z0-9_]{1,100}$/i.test(error)) return { kind: "unknown", error: "unreadable_answer" };
  if (FINAL[purpose].has(error)) return { kind: "place", error };
  if (CREDENTIALS.has(error)) return { kind: "credentials", error };
  if (NOT_DONE.has(error) || CONTENT_REFUSED.has(error)) return { kind: "not-sent", error };
  return { kind: "unknown", error };
}

/** True if Slack refuses a message's content, rather than its place. */
export function isContentRefused(thrown: unknown): boolean {
  return thrown instanceof WebAPIPlatformError && CONTENT_REFUSED.has(thrown.data.error);
}
