import { signatureHeaders } from "../emulators/slack/signing.ts";
import { APP_ID, channelId, promptOf, SIGNING_SECRET, TEAM_ID } from "./identity.ts";

/** `n`: the number of the request, which its job and its outcome carry too. */
export type SignedRequest = { n: number; headers: Record<string, string>; body: string };

/** More than any limit per person would let one person send. */
const PEOPLE = 1000;

/**
 * `count` times `/docs-agent <prompt>`, as Slack sends it, each with a trigger id of its own, in turn from the first
 * `channels` channels of the bench and from many people. The signatures hold for five minutes from now. `first`: the number
 * of the first one; no two requests to the same store may have the same.
 */
export function signedRequests(count: number, channels: number, first = 0): SignedRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const n = first + index;
    const person = n % PEOPLE;
    // https://docs.slack.dev/interactivity/implementing-slash-commands
    const body = new URLSearchParams({
      token: "bench",
      team_id: TEAM_ID,
      team_domain: "bench",
      channel_id: channelId(n % channels),
      channel_name: `bench-${n % channels}`,
      user_id: `U0BENCH${person}`,
      user_name: `person-${person}`,
      command: "/docs-agent",
      text: promptOf(n),
      api_app_id: APP_ID,
      is_enterprise_install: "false",
      response_url: `http://127.0.0.1:9/response/${n}`,
      trigger_id: `${n + 1}.1767603600.0123456789abcdef0123456789abcdef`,
    }).toString();
    return {
      n,
      body,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json,*/*",
        "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        ...signatureHeaders(SIGNING_SECRET, body),
      },
    };
  });
}
