// @module-tag all

import { describe, expect, it } from "vitest";
import { allScopes, startHttpApp, startSlack, startSocketApp } from "./setup.ts";

describe.each([
  ["HTTP", startHttpApp],
  ["Socket Mode", startSocketApp],
])("a real Bolt app over %s", (_transport, startApp) => {
  it("gets a slash command as typed, entities encoded, and answers only the person who typed it", async () => {
    await using world = await startSlack();
    const { slack, docs, ada, workspace } = world;
    const bodies: Record<string, unknown>[] = [];
    await using _app = await startApp(slack, (app) =>
      app.command("/docs-agent", async ({ ack, body }) => {
        bodies.push({ ...body });
        await ack(`Got it: ${body.text}`);
      }),
    );
    const outcome = await slack
      .person(ada.id)
      .command({ channel: docs.id, text: "fix <b> & <!channel> @here" });
    expect(outcome).toMatchObject({ status: 200 });
    expect(bodies).toEqual([
      expect.objectContaining({
        command: "/docs-agent",
        text: "fix &lt;b&gt; &amp; &lt;!channel&gt; @here",
        team_id: workspace.team.id,
        team_domain: "playground",
        channel_id: docs.id,
        channel_name: "docs",
        user_id: ada.id,
        user_name: "ada",
        api_app_id: workspace.bot.appId,
        response_url: expect.stringContaining("/response/"),
        trigger_id: expect.any(String),
      }),
    ]);
    expect(bodies[0]).not.toHaveProperty("enterprise_id");
    expect(slack.ephemerals(ada.id).map(slack.visibleText)).toEqual(["Got it: fix <b> & <!channel> @here"]);
    expect(slack.messages(docs.id)).toEqual([]);
  });

  it("does not learn the names of private conversations", async () => {
    await using world = await startSlack();
    const { slack, ada, workspace } = world;
    const names: string[] = [];
    await using _app = await startApp(slack, (app) =>
      app.command("/docs-agent", async ({ ack, body }) => {
        names.push(body.channel_name);
        await ack();
      }),
    );
    const secret = workspace.addChannel({ name: "secret", members: [ada.id], isPrivate: true });
    const dm = workspace.openDirectMessage([ada.id]);
    await slack.person(ada.id).command({ channel: secret.id });
    await slack.person(ada.id).command({ channel: dm.id });
    expect(names).toEqual(["privategroup", "directmessage"]);
    expect(slack.ephemerals()).toEqual([]);
  });

  it("answers a command for everyone to see", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    await using _app = await startApp(slack, (app) =>
      app.command("/docs-agent", ({ ack }) => ack({ response_type: "in_channel", text: "Hello all" })),
    );
    await slack.person(ada.id).command({ channel: docs.id });
    expect(slack.messages(docs.id).map(slack.visibleText)).toEqual(["Hello all"]);
  });

  it("gets a message shortcut with the message, even where it is no member, and can respond", async () => {
    await using world = await startSlack();
    const { slack, ada, grace, workspace } = world;
    const random = workspace.addChannel({ name: "random", members: [ada.id, grace.id] });
    const root = workspace.say({ channel: random.id, user: ada.id, text: "root" });
    const message = workspace.say({
      channel: random.id,
      user: ada.id,
      text: "see https://x.test/?a=1&b=2 <@U0GRACE>",
      threadTs: root.ts,
    });
    const bodies: unknown[] = [];
    await using _app = await startApp(slack, (app) =>
      app.shortcut("fix_these_docs", async ({ ack, body, respond }) => {
        bodies.push(body);
        await ack();
        await respond({ text: "I am not in this channel", response_type: "ephemeral" });
      }),
    );
    await slack
      .person(grace.id)
      .shortcut({ callbackId: "fix_these_docs", channel: random.id, messageTs: message.ts });
    expect(bodies).toEqual([
      expect.objectContaining({
        type: "message_action",
        callback_id: "fix_these_docs",
        message_ts: message.ts,
        channel: { id: random.id, name: "random" },
        team: { id: workspace.team.id, domain: "playground" },
        user: { id: grace.id, name: "grace", team_id: workspace.team.id },
        message: expect.objectContaining({
          type: "message",
          user: ada.id,
          ts: message.ts,
          thread_ts: root.ts,
          text: "see <https://x.test/?a=1&amp;b=2> <@U0GRACE>",
        }),
      }),
    ]);
    const seen = await slack.until(() => slack.ephemerals(grace.id)[0]);
    expect(seen.text).toBe("I am not in this channel");
  });

  it("gets a press on a button and replaces the message it was on", async () => {
    await using world = await startSlack();
    const { slack, docs, ada, client, workspace } = world;
    const presses: unknown[] = [];
    await using _app = await startApp(slack, (app) =>
      app.action("retry", async ({ ack, body, respond }) => {
        presses.push(body);
        await ack();
        await respond({ replace_original: true, text: "Trying again" });
      }),
    );
    const { ts = "" } = await client.chat.postMessage({
      channel: docs.id,
      text: "Failed",
      blocks: [
        {
          type: "actions",
          block_id: "buttons",
          elements: [
            {
              type: "button",
              action_id: "retry",
              value: "job-1",
              text: { type: "plain_text", text: "Try again" },
            },
          ],
        },
      ],
    });
    await slack.person(ada.id).click({ channel: docs.id, messageTs: ts, actionId: "retry" });
    expect(presses).toEqual([
      expect.objectContaining({
        type: "block_actions",
        api_app_id: workspace.bot.appId,
        container: { type: "message", message_ts: ts, channel_id: docs.id, is_ephemeral: false },
        message: expect.objectContaining({ ts, bot_id: workspace.bot.botId }),
        actions: [
          {
            type: "button",
            action_id: "retry",
            block_id: "buttons",
            value: "job-1",
            text: { type: "plain_text", text: "Try again", emoji: true },
            action_ts: expect.any(String),
          },
        ],
        state: { values: {} },
      }),
    ]);
    await slack.until(() => slack.messages(docs.id)[0]?.text === "Trying again");
    expect(slack.messages(docs.id).map(slack.visibleText)).toEqual(["Trying again"]);
  });

  it("gets a press on an ephemeral message, and takes that message away", async () => {
    await using world = await startSlack();
    const { slack, docs, ada, client } = world;
    const presses: unknown[] = [];
    await using _app = await startApp(slack, (app) =>
      app.action("dismiss", async ({ ack, body, respond }) => {
        presses.push(body);
        await ack();
        await respond({ delete_original: true });
      }),
    );
    const { message_ts: messageTs = "" } = await client.chat.postEphemeral({
      channel: docs.id,
      user: ada.id,
      text: "Help",
      blocks: [
        {
          type: "section",
          text: { type: "plain_text", text: "Help" },
          accessory: { type: "button", action_id: "dismiss", text: { type: "plain_text", text: "OK" } },
        },
      ],
    });
    await slack.person(ada.id).click({ channel: docs.id, messageTs, actionId: "dismiss", ephemeral: true });
    expect(presses).toEqual([
      expect.objectContaining({ container: expect.objectContaining({ is_ephemeral: true }) }),
    ]);
    expect(presses[0]).not.toHaveProperty("message");
    await slack.until(() => slack.ephemerals(ada.id).length === 0);
  });

  it("hears a mention where it is a member, in the thread, and nothing elsewhere", async () => {
    await using world = await startSlack();
    const { slack, docs, ada, workspace } = world;
    const bodies: unknown[] = [];
    await using _app = await startApp(slack, (app) =>
      app.event("app_mention", async ({ body, event, client }) => {
        bodies.push(body);
        const threadTs = event.thread_ts ?? event.ts;
        await client.chat.postMessage({ channel: event.channel, thread_ts: threadTs, text: "On it" });
      }),
    );
    const random = workspace.addChannel({ name: "random", members: [ada.id] });
    const person = slack.person(ada.id);
    const unheard = await person.mention({ channel: random.id, text: "hello?" });
    const { message } = await person.mention({ channel: docs.id, text: "a < b" });
    expect(unheard.delivery).toBeUndefined();
    await slack.until(() => slack.thread(docs.id, message.ts).length === 2);
    expect(bodies).toEqual([
      expect.objectContaining({
        type: "event_callback",
        event_id: expect.stringMatching(/^Ev/),
        team_id: workspace.team.id,
        event: expect.objectContaining({
          type: "app_mention",
          user: ada.id,
          text: `<@${workspace.bot.userId}> a &lt; b`,
          channel: docs.id,
          ts: message.ts,
        }),
      }),
    ]);
  });

  it("hears every message in its channels if it has subscribed to them and may read there: a mention comes twice", async () => {
    const events = ["app_mention", "message.channels", "message.groups"];
    await using world = await startSlack({
      events,
      scopes: allScopes.filter((scope) => scope !== "groups:history"),
    });
    const { slack, docs, ada, workspace } = world;
    const heard: unknown[] = [];
    await using _app = await startApp(slack, (app) => {
      app.event("app_mention", async ({ event }) => void heard.push([event.type, event.files?.length]));
      app.event("message", async ({ event }) => void heard.push(event));
    });
    const person = slack.person(ada.id);
    const root = await person.say({ channel: docs.id, text: "The FAQ is wrong" });
    const mention = await person.mention({
      channel: docs.id,
      threadTs: root.message.ts,
      text: "fix it",
      files: [{ name: "a.md", mimetype: "text/plain", content: "a" }],
    });
    const secret = workspace.addChannel({
      name: "secret",
      members: [ada.id],
      withBot: true,
      isPrivate: true,
    });
    expect((await person.say({ channel: secret.id, text: "hush" })).delivery).toBeUndefined();
    const elsewhere = workspace.addChannel({ name: "random", members: [ada.id] });
    expect((await person.say({ channel: elsewhere.id, text: "hm" })).delivery).toBeUndefined();
    await slack.until(() => heard.length === 3);
    const said = { type: "message", user: ada.id, channel: docs.id, channel_type: "channel" };
    expect(heard).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...said, text: "The FAQ is wrong" }),
        ["app_mention", 1],
        expect.objectContaining({
          ...said,
          subtype: "file_share",
          ts: mention.message.ts,
          thread_ts: root.message.ts,
        }),
      ]),
    );
  });

  it("hears of edits, of a mention twice; nobody edits what another wrote", async () => {
    await using world = await startSlack({ events: ["app_mention", "message.channels"] });
    const { slack, docs, ada, workspace } = world;
    const heard: unknown[] = [];
    await using _app = await startApp(slack, (app) => {
      app.event("app_mention", async ({ event }) => void heard.push(event));
      app.event("message", async ({ event }) => void heard.push(event));
    });
    const person = slack.person(ada.id);
    const { ts } = workspace.say({ channel: docs.id, user: ada.id, text: "The FAQ is wrong" });
    const text = `<@${workspace.bot.userId}> fix it`;
    await person.edit({ channel: docs.id, messageTs: ts, text });
    await slack.until(() => heard.length === 2);
    const edited = { user: ada.id, ts: expect.any(String) as string };
    expect(heard).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "app_mention", ts, text, user: ada.id, edited }),
        expect.objectContaining({
          type: "message",
          subtype: "message_changed",
          hidden: true,
          channel: docs.id,
          message: expect.objectContaining({ ts, text, edited }) as object,
          previous_message: expect.objectContaining({ ts, text: "The FAQ is wrong" }) as object,
        }),
      ]),
    );
    expect(slack.messages(docs.id).map(slack.visibleText)).toEqual(["@docs-agent fix it"]);
    const other = workspace.addUser({ name: "bob" });
    workspace.invite(docs.id, other.id);
    const theft = slack.person(other.id).edit({ channel: docs.id, messageTs: ts, text: "no" });
    await expect(theft).rejects.toThrow("not theirs to edit");
  });

  it("leaves the person with Slack's notice when it does not answer in time", async () => {
    await using world = await startSlack({ ackTimeoutMs: 50 });
    const { slack, docs, ada } = world;
    await using _app = await startApp(slack, (app) => app.command("/docs-agent", async () => {}));
    const outcome = await slack.person(ada.id).command({ channel: docs.id });
    expect(outcome).toMatchObject({ status: 0, failure: "operation_timeout" });
    expect(slack.ephemerals(ada.id).map(slack.visibleText)).toEqual([
      '/docs-agent failed with the error "operation_timeout"',
    ]);
  });

  it("can be sent the very same delivery again", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    const triggers: string[] = [];
    await using _app = await startApp(slack, (app) =>
      app.command("/docs-agent", async ({ ack, body }) => {
        triggers.push(body.trigger_id);
        await ack();
      }),
    );
    const first = await slack.person(ada.id).command({ channel: docs.id });
    const again = await slack.redeliver(first.delivery);
    const resigned = await slack.redeliver(first.delivery, { resign: true });
    expect(again.delivery).toEqual(first.delivery);
    expect([again.status, resigned.status]).toEqual([200, 200]);
    expect(new Set(triggers).size).toBe(1);
    expect(triggers).toHaveLength(3);
  });

  it("learns from a retry that it is one", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    const retries: unknown[] = [];
    await using _app = await startApp(slack, (app) =>
      app.event("app_mention", async ({ context }) => {
        retries.push([context.retryNum, context.retryReason]);
      }),
    );
    const { delivery } = await slack.person(ada.id).mention({ channel: docs.id, text: "hi" });
    if (delivery === undefined) throw new Error("The mention was not delivered.");
    await slack.redeliver(delivery, { retryNum: 1, retryReason: "http_error" });
    expect(retries.at(-1)).toEqual([1, "http_error"]);
  });
});
