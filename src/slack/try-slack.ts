import { LogLevel, WebClient } from "@slack/web-api";
import type { SlackSettings } from "./connection.ts";
import { slackTrouble } from "./tokens.ts";

const TIMEOUT_MS = 10_000;

/**
 * Asks Slack who the app is and, in Socket Mode, for a connection address. Returns what to tell an
 * operator.
 */
export async function trySlack(slack: SlackSettings): Promise<{ found: string; isFault: boolean }> {
  const options = {
    slackApiUrl: slack.apiUrl,
    retryConfig: { retries: 0 },
    timeout: TIMEOUT_MS,
    // The check itself reports what matters, once.
    logLevel: LogLevel.ERROR,
  };
  let secret = "SLACK_BOT_TOKEN";
  try {
    const { user, team } = await new WebClient(slack.botToken, options).auth.test();
    if (slack.receive.kind === "socket") {
      secret = "SLACK_APP_TOKEN";
      await new WebClient(slack.receive.appToken, options).apps.connections.open({});
    }
    return { found: `the app is ${user} in ${team}`, isFault: false };
  } catch (thrown) {
    const { error, isTokenRefused } = slackTrouble(thrown);
    const found = isTokenRefused
      ? `Slack refuses ${secret} (${error}). Copy it again from your app's settings.`
      : `Slack can't be reached (${error}). Check the network, and HTTPS_PROXY and SLACK_API_URL if ` +
        "you set them.";
    return { found, isFault: true };
  }
}
