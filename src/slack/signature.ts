import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/**
 * Slack's own limit against replays, in both directions
 * (docs.slack.dev/authentication/verifying-requests-from-slack).
 */
const MAX_APART_S = 5 * 60;
const DIGITS = /^\d{1,12}$/;
const SIGNATURE = /^v0=([0-9a-f]{64})$/;

/**
 * Creates a check that a request is Slack's. It returns the reason why it isn't, or null. The rules
 * are those of Bolt's own check, which makes three keys and three digests per request, about a
 * fifth of a request's cost.
 */
export function createSignatureCheck(
  signingSecret: string,
): (headers: IncomingHttpHeaders, body: Buffer) => string | null {
  const key = createSecretKey(signingSecret, "utf8");
  return (headers, body) => {
    const sentAt = headers["x-slack-request-timestamp"];
    const signature = headers["x-slack-signature"];
    if (typeof sentAt !== "string" || !DIGITS.test(sentAt)) return "no readable x-slack-request-timestamp";
    if (typeof signature !== "string") return "no x-slack-signature";
    const apartS = Math.abs(Date.now() / 1000 - Number(sentAt));
    if (apartS > MAX_APART_S) return "the request's time is more than five minutes from this machine's";
    const sent = SIGNATURE.exec(signature)?.[1];
    if (sent === undefined) return "an x-slack-signature of another form";
    const right = createHmac("sha256", key).update(`v0:${sentAt}:`).update(body).digest();
    return timingSafeEqual(right, Buffer.from(sent, "hex")) ? null : "signature mismatch";
  };
}
