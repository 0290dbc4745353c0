import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Headers to send. */
export type SentHeaders = Record<string, string | string[]>;

/** Headers for one connection only, or for us as a proxy (RFC 9110, 7.6.1). */
const PER_CONNECTION = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The headers that a proxy passes on: not those for one connection, nor those that `Connection`
 * names.
 */
export function endToEndHeaders(headers: IncomingHttpHeaders): SentHeaders {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return pickHeaders(headers, (name) => !PER_CONNECTION.has(name) && !named.has(name));
}

/** The headers with these names. The names are in lower case. */
export function pickHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  isWanted: (name: string) => boolean,
): SentHeaders {
  const picked: SentHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && isWanted(name.toLowerCase())) picked[name] = value;
  }
  return picked;
}

/** Compares two secrets in constant time. */
export function isSameSecret(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
