import { timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** The content policy for self-contained pages of ours. They load nothing and send nothing. */
export const STANDALONE_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' data:",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Sets headers under which a page can't load anything from elsewhere, run an inline script, or
 * stand in a frame.
 */
export function secureHeaders(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    if (!context.res.headers.has("content-security-policy"))
      context.header("content-security-policy", POLICY);
    context.header("x-content-type-options", "nosniff");
    context.header("referrer-policy", "no-referrer");
    context.header("cross-origin-opener-policy", "same-origin");
    context.header("cross-origin-resource-policy", "same-origin");
    context.header("cache-control", "no-store");
  };
}

/**
 * Refuses every request whose `Host` isn't this page's own. Otherwise a foreign page could become
 * same-origin under a name that points to 127.0.0.1 (DNS rebinding).
 */
export function ownHostOnly(hosts: () => readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    if (!hosts().includes(context.req.header("host") ?? "")) {
      return context.json({ error: "This page can only be reached at its own address." }, 403);
    }
    await next();
  };
}

/**
 * Refuses requests that the page itself didn't send: those with a foreign or missing `Origin`, or
 * without the token that the page was served with.
 */
export function fromThisPageOnly(token: string): MiddlewareHandler {
  return async (context, next) => {
    const { req } = context;
    if (req.header("origin") !== `http://${req.header("host")}`) {
      return context.json({ error: "Only the page itself may do this." }, 403);
    }
    if (!isSame(req.header("x-page-token") ?? "", token)) {
      return context.json({ error: "This page is out of date. Load it again." }, 403);
    }
    if (req.header("content-type") !== "application/json") {
      return context.json({ error: "Send application/json." }, 415);
    }
    await next();
  };
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
