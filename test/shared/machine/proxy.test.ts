import { SocketModeReceiver } from "@slack/bolt";
import { LogLevel, WebAPIRequestError, WebClient } from "@slack/web-api";
import { getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { describe, expect, it } from "vitest";
import { createDispatcher } from "../../../src/shared/machine/dispatcher.ts";
import { ConnectProxy } from "../../../world/faults/connect-proxy.ts";
import { ANA, APP_TOKEN, BOT_TOKEN, DOCS, startSlackSide } from "../../support/world.ts";

/** Everything that this process fetches goes through the proxy until the end of the scope, as `main.ts` sets it up. */
function fetchThrough(proxy: ConnectProxy): AsyncDisposable {
  const before = getGlobalDispatcher();
  const dispatcher = createDispatcher({ http: proxy.url, https: "", none: "" });
  setGlobalDispatcher(dispatcher);
  return {
    async [Symbol.asyncDispose]() {
      setGlobalDispatcher(before);
      await dispatcher.destroy();
    },
  };
}

function clientOf(apiUrl: string): WebClient {
  return new WebClient(BOT_TOKEN, {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    timeout: 5_000,
    logLevel: LogLevel.ERROR,
  });
}

describe("Slack behind a proxy", () => {
  it("is called through it: the Web API and response URLs", async () => {
    await using slack = await startSlackSide();
    const { port } = new URL(slack.apiUrl);
    await using proxy = await ConnectProxy.start({ leadsTo: Number(port) });
    await using _scope = fetchThrough(proxy);
    const client = clientOf(slack.apiUrl.replace("127.0.0.1", "slack.internal"));
    expect(await client.auth.test()).toMatchObject({ ok: true });
    await client.chat.postMessage({ channel: DOCS, text: "hello" });
    expect(slack.messages(DOCS)).toHaveLength(1);
    await fetch(`http://hooks.slack.internal:${port}/commands/x`, { method: "POST", body: "{}" });
    expect(new Set(proxy.asked)).toEqual(new Set([`slack.internal:${port}`, `hooks.slack.internal:${port}`]));
  });

  it("saw nothing if the proxy opens no tunnel, and the error says so", async () => {
    await using slack = await startSlackSide();
    await using proxy = await ConnectProxy.start();
    await using _scope = fetchThrough(proxy);
    const client = clientOf(slack.apiUrl);
    for (const mood of [{ status: 503 }, { status: 407 }, "hang-up"] as const) {
      proxy.mood = mood;
      const asked = proxy.asked.length;
      const thrown: unknown = await client.chat
        .postMessage({ channel: DOCS, text: "hello" })
        .catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(WebAPIRequestError);
      expect((thrown as WebAPIRequestError).original.cause).toMatchObject({ code: "ERR_PROXY_CONNECT" });
      expect(proxy.asked.length - asked).toBe(1);
    }
    expect(slack.messages(DOCS)).toEqual([]);
  });

  it("is connected to through it in Socket Mode", async () => {
    await using slack = await startSlackSide();
    await using proxy = await ConnectProxy.start();
    const dispatcher = createDispatcher({ http: proxy.url, https: "", none: "" });
    const receiver = new SocketModeReceiver({
      appToken: APP_TOKEN,
      dispatcher,
      logLevel: LogLevel.ERROR,
      installerOptions: { clientOptions: { slackApiUrl: slack.apiUrl } },
    });
    const commands: unknown[] = [];
    receiver.init({
      processEvent: async (event: { body: { text: unknown }; ack: () => Promise<void> }) => {
        commands.push(event.body.text);
        await event.ack();
      },
    } as unknown as Parameters<typeof receiver.init>[0]);
    await receiver.start();
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    expect(commands).toEqual(["fix it"]);
    // One for the Web API, which hands out the address, and one for the connection itself.
    expect(proxy.asked).toHaveLength(2);
    await receiver.client.disconnect();
    await dispatcher.destroy();
  });
});
