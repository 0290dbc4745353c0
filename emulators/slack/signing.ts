import { createHmac } from "node:crypto";

/**
 * The headers that prove a request is Slack's: https://docs.slack.dev/authentication/verifying-requests-from-slack.
 * The time is the real clock's, because apps compare it with theirs.
 */
export function signatureHeaders(signingSecret: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const digest = createHmac("sha256", signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
  return { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${digest}` };
}
