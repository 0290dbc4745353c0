// @module-tag all

import { WebAPIPlatformError, WebClient } from "@slack/web-api";
import { createEmulator } from "emulate";
import { expect, it } from "vitest";
import { BOT_TOKEN, DOCS, startSlackSide } from "../../support/world.ts";
import { disagreements, kindsOf } from "../../support/shape.ts";

const OPTIONS = { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, timeout: 5000 };

/** The error word of a call that is refused. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (thrown) {
    return thrown instanceof WebAPIPlatformError ? thrown.data.error : String(thrown);
  }
}

it("answers as an independent emulation of Slack does: fields of the same kind, the same error words", async () => {
  await using slack = await startSlackSide();
  const emulator = await createEmulator({
    service: "slack",
    port: 0,
    seed: { tokens: { "xoxb-emulate": { login: "ana", scopes: [] } }, slack: { users: [{ name: "ana" }] } },
  });
  try {
    const ours = new WebClient(BOT_TOKEN, { slackApiUrl: slack.apiUrl, ...OPTIONS });
    const theirs = new WebClient("xoxb-emulate", { slackApiUrl: `${emulator.url}/api/`, ...OPTIONS });
    const { channels } = await theirs.conversations.list();
    const general = channels?.find(({ name }) => name === "general")?.id ?? "";
    await theirs.conversations.join({ channel: general });

    const answers = async (client: WebClient, channel: string) => {
      const auth = await client.auth.test();
      const root = await client.chat.postMessage({ channel, text: "root" });
      const rootTs = root.ts ?? "";
      const reply = await client.chat.postMessage({ channel, text: "reply", thread_ts: rootTs });
      return {
        auth,
        root,
        reply,
        update: await client.chat.update({ channel, ts: rootTs, text: "changed" }),
        replies: await client.conversations.replies({ channel, ts: rootTs }),
        history: await client.conversations.history({ channel }),
        info: await client.conversations.info({ channel }),
      };
    };
    const here = await answers(ours, DOCS);
    const there = await answers(theirs, general);
    for (const method of ["auth", "root", "reply", "update", "replies", "history", "info"] as const) {
      expect([method, kindsOf(here[method]).size > 3]).toEqual([method, true]);
      expect([method, disagreements(here[method], there[method])]).toEqual([method, []]);
    }

    const refusals = async (client: WebClient, channel: string) => ({
      unknownChannel: await refusal(client.chat.postMessage({ channel: "C0NOTHERE", text: "x" })),
      noText: await refusal(client.apiCall("chat.postMessage", { channel })),
      unknownMessage: await refusal(client.chat.update({ channel, ts: "1.000001", text: "x" })),
      unknownUser: await refusal(client.users.info({ user: "U0NOTHERE" })),
    });
    expect(await refusals(ours, DOCS)).toEqual(await refusals(theirs, general));
  } finally {
    await emulator.close();
  }
});
