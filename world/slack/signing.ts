import { createHmac } from "node:crypto";

/**
 * Returns the headers that prove that a request of the time `nowMs` is Slack's. See
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export function signatureHeaders(
  signingSecret: string,
  body: string,
  nowMs: number = Date.now(),
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const digest = createHmac("sha256", signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
  return { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${digest}` };
}
