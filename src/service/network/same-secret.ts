import { timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same, in a time that doesn't tell how much of them is. */
export function isSameSecret(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
