import { signatureHeaders } from "../emulators/slack/signing.ts";
import { commandPayload } from "../emulators/slack/payloads.ts";
import { Triggers } from "../emulators/slack/triggers.ts";
import { Workspace } from "../emulators/slack/workspace.ts";

export const USER = { id: "U0BENCH", name: "bench" };

/** The id of the bench's n-th channel. */
export function channelId(n: number): string {
  return `C0BENCH${n}`;
}

export type SignedRequest = { headers: Record<string, string>; body: string };

/**
 * `count` times `/docs-agent <prompt>`, as Slack sends it, each with a trigger id of its own, in turn from the first
 * `channels` channels of the bench. The signatures hold for five minutes from now.
 */
export function signedRequests(count: number, channels: number, signingSecret: string): SignedRequest[] {
  const workspace = new Workspace(Date.now);
  const triggers = new Triggers(Date.now);
  const user = workspace.addUser(USER);
  for (let n = 0; n < channels; n += 1) {
    workspace.addChannel({ id: channelId(n), name: `bench-${n}`, members: [user.id] });
  }
  return Array.from({ length: count }, (_, n) => {
    const channel = workspace.channel(channelId(n % channels));
    const triggerId = triggers.issue(user.id);
    const fields = commandPayload(
      { workspace, user, channel, triggerId, responseUrl: `http://127.0.0.1:9/response/${n}` },
      "/docs-agent",
      `The quick start says npm run dev, but the script is called start since version 4. Please fix page ${n}.`,
    );
    const body = new URLSearchParams(
      Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    return {
      body,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json,*/*",
        "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        ...signatureHeaders(signingSecret, body),
      },
    };
  });
}
