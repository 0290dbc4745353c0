import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Headers as they are sent. */
export type SentHeaders = Record<string, string | string[]>;

/** What is for one connection only, or for us as a proxy (RFC 9110, 7.6.1). */
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
 * The headers that a proxy hands on: without those for one connection, and those that `Connection`
 * names.
 */
export function endToEndHeaders(headers: IncomingHttpHeaders): SentHeaders {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return pickHeaders(headers, (name) => !PER_CONNECTION.has(name) && !named.has(name));
}

/** The headers whose names, in lower case, are wanted. */
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

/** True if two secrets are the same, in a time that doesn't tell how much of them is. */
export function isSameSecret(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
