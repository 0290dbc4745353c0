const MAX_SECONDS = 3600;

/** `Retry-After` in seconds, as milliseconds and no more than an hour; null for anything else. */
export function parseRetryAfter(value: unknown): number | null {
  if (typeof value !== "string" || !/^\d{1,9}$/.test(value)) return null;
  return Math.min(Number(value), MAX_SECONDS) * 1000;
}
