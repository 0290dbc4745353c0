const MAX_RETRY_AFTER_MS = 3_600_000;
const DELTA_SECONDS = /^\d+$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait a `Retry-After` header asks for, in milliseconds between 0 and one hour; null for none or an unreadable one.
 * Takes both forms of RFC 9110, section 10.2.3: seconds, and a date that is compared with `now` (epoch milliseconds).
 */
export function parseRetryAfter(header: string | undefined, now: () => number): number | null {
  const value = header?.trim() ?? "";
  if (DELTA_SECONDS.test(value)) return bounded(Number(value) * 1000);
  if (!HTTP_DATE.test(value)) return null;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : bounded(atMs - now());
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
