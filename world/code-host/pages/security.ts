import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";

/** The policy of the pages: nothing from elsewhere, no script, and forms only to this server. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function securityHeaders(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    context.header("content-security-policy", CONTENT_SECURITY_POLICY);
    context.header("x-content-type-options", "nosniff");
    context.header("referrer-policy", "same-origin");
    context.header("cross-origin-opener-policy", "same-origin");
    context.header("cross-origin-resource-policy", "same-origin");
  };
}

/** The tokens in this process's forms. Each form has its own, which isn't valid for any other. */
export class FormTokens {
  readonly #key = randomBytes(32);

  issue(form: string): string {
    return createHmac("sha256", this.#key).update(form).digest("base64url");
  }

  isValid(form: string, token: unknown): boolean {
    if (typeof token !== "string") return false;
    const known = Buffer.from(this.issue(form));
    const given = Buffer.from(token);
    return known.length === given.length && timingSafeEqual(known, given);
  }
}

/** Returns true if a browser says that a page of this very server sent the form. */
export function isSameOrigin(headers: Headers, ownOrigin: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  return headers.get("origin") === ownOrigin;
}
