import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import { slackFault } from "./replies/slack-faults.ts";
import type { SlackIdentity } from "./replies/slack-teams.ts";
import { StartError } from "./start-error.ts";

/** Only the ids matter to the work; the name and the workspace's address are for what people read. */
const AuthTest = z.object({
  user_id: z.string(),
  bot_id: z.string().default(""),
  user: z.string().default("docs-agent"),
  url: z.string().default(""),
});

/** Asks Slack who we are. Rejects with a {@link StartError} when the token is not accepted or Slack cannot be reached. */
export async function identify(client: WebClient): Promise<SlackIdentity> {
  const answer = await client.auth.test().catch((thrown: unknown) => {
    const fault = slackFault(thrown);
    throw new StartError(
      fault.kind === "credentials"
        ? `Slack does not accept SLACK_BOT_TOKEN (${fault.error}). Copy the Bot User OAuth Token from OAuth & Permissions in your Slack app's settings, and install the app to the workspace if it is not.`
        : `Slack cannot be asked who we are (${fault.error} from ${client.slackApiUrl}auth.test). Check the network and SLACK_API_URL, then start again.`,
    );
  });
  const parsed = AuthTest.safeParse(answer);
  if (!parsed.success) {
    throw new StartError(
      `Slack's answer to auth.test names no user, so SLACK_API_URL (${client.slackApiUrl}) is hardly Slack's. Check it, then start again.`,
    );
  }
  const { user_id, bot_id, user, url } = parsed.data;
  return { botUserId: user_id, botId: bot_id, botName: user, teamUrl: url };
}
