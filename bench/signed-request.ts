import { signatureHeaders } from "../world/slack/signing.ts";
import {
  APP_ID,
  BOT_USER_ID,
  channelId,
  promptOf,
  SIGNING_SECRET,
  TEAM_ID,
} from "../world/light/identity.ts";

/**
 * A request that Slack could have sent. `n` is its number, which its job and its outcome carry too.
 */
export type SignedRequest = { n: number; headers: Record<string, string>; body: string };

/** So many people that none of them reaches a limit. */
const PEOPLE = 100;

/**
 * Makes `count` requests with `/docs-agent <prompt>` as Slack sends them, each with its own trigger
 * id. They come in turn from the first `channels` channels of the bench, and from many people. The
 * signatures hold for five minutes from now. `first` is the number of the first one. No two
 * requests to the same store may have the same number.
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
    return signed(n, body, "application/x-www-form-urlencoded");
  });
}

/**
 * Makes the n-th mention of the app, in the thread that the mention `first` began. The signature
 * holds for five minutes from now.
 */
export function signedMention(
  n: number,
  { first, channel }: { first: number; channel: string },
): SignedRequest {
  const tsOf = (of: number) => `1767603600.${String(of).padStart(6, "0")}`;
  // https://docs.slack.dev/reference/events/app_mention
  const body = JSON.stringify({
    token: "bench",
    team_id: TEAM_ID,
    context_team_id: TEAM_ID,
    api_app_id: APP_ID,
    type: "event_callback",
    event_id: `Ev0BENCH${n}`,
    event_time: 1767603600,
    authorizations: [
      {
        enterprise_id: null,
        team_id: TEAM_ID,
        user_id: BOT_USER_ID,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    is_ext_shared_channel: false,
    event: {
      type: "app_mention",
      user: "U0BENCH0",
      team: TEAM_ID,
      channel,
      text: `<@${BOT_USER_ID}> ${promptOf(n)}`,
      ts: tsOf(n),
      event_ts: tsOf(n),
      ...(n === first ? {} : { thread_ts: tsOf(first) }),
    },
  });
  return signed(n, body, "application/json");
}

function signed(n: number, body: string, contentType: string): SignedRequest {
  return {
    n,
    body,
    headers: {
      "content-type": contentType,
      accept: "application/json,*/*",
      "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
      ...signatureHeaders(SIGNING_SECRET, body),
    },
  };
}
