import type { AddressInfo } from "node:net";
import { App, HTTPReceiver, SocketModeReceiver } from "@slack/bolt";
import { type ChatPostMessageResponse, WebAPIPlatformError, WebClient } from "@slack/web-api";
import { createSlackSide, type SlackSide, type SlackSideOptions } from "../../../world/slack/index.ts";
import { silentSlackLogger } from "../../support/silent-slack-logger.ts";

export const botToken = "xoxb-test";
export const appToken = "xapp-test";
export const signingSecret = "shhh";

export const allScopes = [
  "chat:write",
  "channels:read",
  "channels:history",
  "groups:read",
  "groups:history",
  "im:read",
  "im:history",
  "im:write",
  "mpim:read",
  "mpim:history",
  "mpim:write",
  "users:read",
];

/** A clock that moves when the test says so. */
export function makeClock(startMs = 1_700_000_000_000) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms: number) {
      nowMs += ms;
    },
  };
}

export function makeClient(
  slack: SlackSide,
  token: string | undefined = botToken,
  timeout = 5000,
): WebClient {
  return new WebClient(token, {
    slackApiUrl: slack.apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout,
    logger: silentSlackLogger,
  });
}

/** A Slack with Ada and Grace in #docs together with the bot, and a client with the bot's token. */
export async function startSlack(options: Partial<SlackSideOptions> = {}) {
  const clock = makeClock();
  const slack = await createSlackSide({
    now: clock.now,
    scopes: allScopes,
    signingSecret,
    botToken,
    appToken,
    ...options,
  });
  const { workspace } = slack;
  const ada = workspace.addUser({ name: "ada", realName: "Ada Lovelace" });
  const grace = workspace.addUser({ name: "grace", realName: "Grace Hopper" });
  const docs = workspace.addChannel({ name: "docs", members: [ada.id, grace.id], withBot: true });
  return {
    slack,
    workspace,
    clock,
    ada,
    grace,
    docs,
    client: makeClient(slack),
    [Symbol.asyncDispose]: () => slack.close(),
  };
}

/** The error word a call was refused with. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  return (await refused(call)).error ?? "";
}

/** The body of a refusal. */
export async function refused(call: Promise<unknown>): Promise<ChatPostMessageResponse> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof WebAPIPlatformError) return thrown.data;
    throw thrown;
  }
  throw new Error("Slack accepted a call that the test expects it to refuse.");
}

/** A real Bolt app behind HTTP that Slack's requests go to. */
export async function startHttpApp(slack: SlackSide, register: (app: App) => void) {
  const receiver = new HTTPReceiver({ signingSecret, logger: silentSlackLogger });
  const app = new App({
    token: botToken,
    receiver,
    deferInitialization: true,
    convoStore: false,
    logger: silentSlackLogger,
    clientOptions: { slackApiUrl: slack.apiUrl, retryConfig: { retries: 0 }, timeout: 5000 },
  });
  register(app);
  await app.init();
  const server = await receiver.start(0);
  const { port } = server.address() as AddressInfo;
  slack.setAppUrl(`http://127.0.0.1:${port}/slack/events`);
  return {
    app,
    async [Symbol.asyncDispose]() {
      const stopped = receiver.stop();
      server.closeAllConnections();
      await stopped;
    },
  };
}

/** A real Bolt app that connects to Slack over Socket Mode. */
export async function startSocketApp(
  slack: SlackSide,
  register: (app: App) => void,
  /** Also how long Bolt waits before it connects again. */
  clientPingTimeout = 5000,
) {
  const clientOptions = { slackApiUrl: slack.apiUrl, retryConfig: { retries: 0 }, timeout: 5000 };
  const receiver = new SocketModeReceiver({
    appToken,
    logger: silentSlackLogger,
    clientPingTimeout,
    installerOptions: { clientOptions: { ...clientOptions } },
  });
  const app = new App({
    token: botToken,
    receiver,
    deferInitialization: true,
    convoStore: false,
    logger: silentSlackLogger,
    clientOptions,
  });
  register(app);
  await app.init();
  await receiver.start();
  return {
    app,
    async [Symbol.asyncDispose]() {
      await receiver.client.disconnect();
    },
  };
}
