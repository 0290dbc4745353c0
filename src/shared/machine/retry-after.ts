/**
 * The longest wait that another side may ask for: one hour, in milliseconds. A longer one would
 * stop the work for good.
 */
export const MAX_RETRY_AFTER_MS = 3_600_000;

const DELTA_SECONDS = /^\d+$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait that a `Retry-After` header asks for, in milliseconds between 0 and {@link
 * MAX_RETRY_AFTER_MS}; null if there is none or it can't be read. Reads both forms of RFC 9110,
 * section 10.2.3: seconds, and a date, which is compared with `nowMs` (epoch milliseconds).
 */
export function parseRetryAfter(header: unknown, nowMs: number): number | null {
  if (typeof header !== "string") return null;
  const value = header.trim();
  if (DELTA_SECONDS.test(value)) return boundRetryAfterMs(Number(value) * 1000);
  if (!HTTP_DATE.test(value)) return null;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : boundRetryAfterMs(atMs - nowMs);
}

/** A wait that was asked for, in milliseconds, kept between 0 and {@link MAX_RETRY_AFTER_MS}. */
export function boundRetryAfterMs(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
