// @module-tag all

import { describe, expect, it } from "vitest";
import { botToken, refusalOf, refused, startSlack } from "./setup.ts";

describe("posting", () => {
  it("shows the app's message in the channel, from the app", async () => {
    await using world = await startSlack();
    const { client, docs, slack, workspace } = world;
    const posted = await client.chat.postMessage({ channel: docs.id, text: "Working on it" });
    expect(slack.messages(docs.id)).toEqual([
      expect.objectContaining({
        ts: posted.ts,
        text: "Working on it",
        user: workspace.bot.userId,
        bot_id: workspace.bot.botId,
        mentions: [],
      }),
    ]);
    expect(posted.message).toMatchObject({ type: "message", text: "Working on it", ts: posted.ts });
  });

  it("gives every message its own, later timestamp even in the same millisecond", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const first = await client.chat.postMessage({ channel: docs.id, text: "1" });
    const second = workspace.say({ channel: docs.id, user: ada.id, text: "2" });
    expect(first.ts).toBe("1700000000.000000");
    expect(second.ts).toBe("1700000000.000001");
  });

  it("answers in a thread under the message that started it", async () => {
    await using world = await startSlack();
    const { client, docs, slack, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "The guide is wrong" });
    await client.chat.postMessage({ channel: docs.id, text: "On it", thread_ts: root.ts });
    expect(slack.thread(docs.id, root.ts).map((message) => message.text)).toEqual([
      "The guide is wrong",
      "On it",
    ]);
  });

  it("opens the direct message when it posts to a person", async () => {
    await using world = await startSlack();
    const { client, ada, slack } = world;
    const posted = await client.chat.postMessage({ channel: ada.id, text: "Your job failed" });
    expect(posted.channel).toMatch(/^D/);
    expect(slack.dm(ada.id).map((message) => message.text)).toEqual(["Your job failed"]);
    const opened = await client.conversations.open({ users: ada.id });
    expect(opened.channel?.id).toBe(posted.channel);
  });

  it("replaces text and blocks when it edits, and edits without blocks remove them", async () => {
    await using world = await startSlack();
    const { client, docs, slack, workspace } = world;
    const { ts = "" } = await client.chat.postMessage({
      channel: docs.id,
      text: "fallback",
      blocks: [{ type: "section", text: { type: "mrkdwn", text: "Running" } }],
      metadata: { event_type: "turn", event_payload: { id: "1" } },
    });
    const updated = await client.chat.update({ channel: docs.id, ts, text: "Done" });
    expect(updated.text).toBe("Done");
    const [message] = slack.messages(docs.id);
    expect(message).toMatchObject({ text: "Done", edited: { user: workspace.bot.userId } });
    expect(message).not.toHaveProperty("blocks");
    expect(message?.metadata).toEqual({ event_type: "turn", event_payload: { id: "1" } });
  });

  it("deletes its own message and nobody else's", async () => {
    await using world = await startSlack();
    const { client, docs, slack, workspace, ada } = world;
    const { ts = "" } = await client.chat.postMessage({ channel: docs.id, text: "Oops" });
    const theirs = workspace.say({ channel: docs.id, user: ada.id, text: "Mine" });
    await client.chat.delete({ channel: docs.id, ts });
    expect(slack.messages(docs.id)).toEqual([theirs]);
    expect(await refusalOf(client.chat.delete({ channel: docs.id, ts: theirs.ts }))).toBe(
      "cant_delete_message",
    );
  });

  it("shows an ephemeral message to one person only", async () => {
    await using world = await startSlack();
    const { client, docs, slack, ada, grace } = world;
    await client.chat.postEphemeral({ channel: docs.id, user: ada.id, text: "Only you see this" });
    expect(slack.ephemerals(ada.id)).toEqual([
      expect.objectContaining({ channel: docs.id, text: "Only you see this" }),
    ]);
    expect(slack.ephemerals(grace.id)).toEqual([]);
    expect(slack.messages(docs.id)).toEqual([]);
  });

  it("links to a message, and to a reply within its thread", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    const reply = workspace.say({ channel: docs.id, user: ada.id, text: "reply", threadTs: root.ts });
    const link = await client.chat.getPermalink({ channel: docs.id, message_ts: reply.ts });
    expect(link.permalink).toBe(
      `https://playground.slack.com/archives/${docs.id}/p1700000000000001?thread_ts=${root.ts}&cid=${docs.id}`,
    );
  });

  it("takes JSON bodies as well as forms", async () => {
    await using world = await startSlack();
    const { docs, slack } = world;
    const response = await fetch(`${slack.apiUrl}chat.postMessage`, {
      method: "POST",
      headers: { "content-type": "application/json; charset=utf-8", authorization: `Bearer ${botToken}` },
      body: JSON.stringify({ channel: docs.id, blocks: [{ type: "divider" }] }),
    });
    expect(await response.json()).toMatchObject({ ok: true });
    expect(slack.messages(docs.id)[0]?.blocks).toEqual([{ type: "divider", block_id: expect.any(String) }]);
  });
});

describe("who would be notified", () => {
  it.each([
    ["a mention in the text", "Hello <@U1>, <!here>", ["@U1", "!here"]],
    ["a labeled group", "<!subteam^S1|@docs> and <!channel|channel>", ["!subteam^S1", "!channel"]],
    ["nobody by an escaped mention", "&lt;!everyone&gt; &lt;@U1&gt; @here", []],
  ])("notices %s", async (_name, text, mentions) => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    await client.chat.postMessage({ channel: docs.id, text });
    expect(slack.messages(docs.id)[0]?.mentions).toEqual(mentions);
  });

  it("reads blocks and not the fallback text; plain text pings nobody", async () => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    await client.chat.postMessage({
      channel: docs.id,
      text: "<!channel>",
      blocks: [
        { type: "section", text: { type: "plain_text", text: "<!everyone>" } },
        { type: "section", text: { type: "mrkdwn", text: "<@U2>" } },
        { type: "markdown", text: "<!here>" },
        {
          type: "rich_text",
          elements: [
            {
              type: "rich_text_section",
              elements: [
                { type: "text", text: "<!channel>" },
                { type: "user", user_id: "U3" },
                { type: "broadcast", range: "channel" },
              ],
            },
          ],
        },
      ],
    });
    expect(slack.messages(docs.id)[0]?.mentions).toEqual(["@U2", "!here", "@U3", "!channel"]);
  });

  it("reads plain names when the app asks Slack to link them", async () => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    await client.chat.postMessage({ channel: docs.id, text: "Hello @channel", link_names: true });
    expect(slack.messages(docs.id)[0]?.mentions).toEqual(["!channel"]);
  });
});

describe("refused posts", () => {
  it("needs something to say", async () => {
    await using world = await startSlack();
    const { client, docs } = world;
    expect(await refusalOf(client.chat.postMessage({ channel: docs.id, text: "" }))).toBe("no_text");
    expect(await refusalOf(client.chat.postMessage({ channel: docs.id, text: "x".repeat(40_001) }))).toBe(
      "msg_too_long",
    );
  });

  it("names the argument that is missing", async () => {
    await using world = await startSlack();
    const body = await refused(world.client.apiCall("chat.postMessage", { text: "hello" }));
    expect(body.error).toBe("invalid_arguments");
    expect(body.response_metadata?.messages).toEqual(["[ERROR] missing required field: channel"]);
  });

  it("keeps the app out of channels it is not in, and hides private ones", async () => {
    await using world = await startSlack();
    const { client, workspace, ada, grace } = world;
    const open = workspace.addChannel({ name: "random", members: [ada.id] });
    const closed = workspace.addChannel({ name: "secret", members: [ada.id], isPrivate: true });
    const dm = workspace.addDirectMessageBetween([ada.id, grace.id]);
    expect(await refusalOf(client.chat.postMessage({ channel: open.id, text: "x" }))).toBe("not_in_channel");
    for (const channel of [closed.id, dm.id, "C0NOWHERE"]) {
      expect(await refusalOf(client.chat.postMessage({ channel, text: "x" }))).toBe("channel_not_found");
    }
    workspace.invite(closed.id);
    await client.chat.postMessage({ channel: closed.id, text: "x" });
    workspace.kick(closed.id);
    expect(await refusalOf(client.chat.postMessage({ channel: closed.id, text: "x" }))).toBe(
      "channel_not_found",
    );
  });

  it("posts nowhere in an archived channel, and edits nothing there", async () => {
    await using world = await startSlack();
    const { client, docs, workspace } = world;
    const { ts = "" } = await client.chat.postMessage({ channel: docs.id, text: "before" });
    workspace.archiveChannel(docs.id);
    expect(await refusalOf(client.chat.postMessage({ channel: docs.id, text: "x" }))).toBe("is_archived");
    expect(await refusalOf(client.chat.update({ channel: docs.id, ts, text: "x" }))).toBe("is_inactive");
  });

  it("does not reply to a message that is gone, unless it is the root of a living thread", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, slack, ada } = world;
    const lonely = workspace.say({ channel: docs.id, user: ada.id, text: "lonely" });
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    workspace.say({ channel: docs.id, user: ada.id, text: "reply", threadTs: root.ts });
    workspace.deleteMessage(docs.id, lonely.ts);
    workspace.deleteMessage(docs.id, root.ts);
    const reply = { channel: docs.id, text: "still here?" };
    expect(await refusalOf(client.chat.postMessage({ ...reply, thread_ts: lonely.ts }))).toBe(
      "thread_not_found",
    );
    expect(await refusalOf(client.chat.postMessage({ ...reply, thread_ts: "0" }))).toBe("invalid_thread_ts");
    await client.chat.postMessage({ ...reply, thread_ts: root.ts });
    expect(slack.thread(docs.id, root.ts).map((message) => message.text)).toEqual([
      "This message was deleted.",
      "reply",
      "still here?",
    ]);
  });

  it("can drop such a reply at the top of the channel instead, as Slack is reported to do", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const lonely = workspace.say({ channel: docs.id, user: ada.id, text: "lonely" });
    workspace.deleteMessage(docs.id, lonely.ts);
    workspace.orphanedReplies = "unthread";
    const posted = await client.chat.postMessage({ channel: docs.id, text: "x", thread_ts: lonely.ts });
    expect(posted.message).not.toHaveProperty("thread_ts");
  });

  it("edits only what exists and is its own", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const theirs = workspace.say({ channel: docs.id, user: ada.id, text: "mine" });
    expect(await refusalOf(client.chat.update({ channel: docs.id, ts: "1.000000", text: "x" }))).toBe(
      "message_not_found",
    );
    expect(await refusalOf(client.chat.update({ channel: docs.id, ts: theirs.ts, text: "x" }))).toBe(
      "cant_update_message",
    );
  });

  it("whispers to nobody outside the channel", async () => {
    await using world = await startSlack();
    const { client, docs, workspace } = world;
    const stranger = workspace.addUser({ name: "eve" });
    expect(
      await refusalOf(client.chat.postEphemeral({ channel: docs.id, user: stranger.id, text: "x" })),
    ).toBe("user_not_in_channel");
  });

  it.each([
    ["nested payloads", { event_type: "turn", event_payload: { a: { b: 1 } } }, "invalid_metadata_format"],
    ["a missing type", { event_payload: {} }, "invalid_metadata_format"],
    ["a huge payload", { event_type: "t", event_payload: { a: "x".repeat(9000) } }, "metadata_too_large"],
  ])("takes no metadata with %s", async (_name, metadata, error) => {
    await using world = await startSlack();
    const { client, docs } = world;
    const call = client.apiCall("chat.postMessage", { channel: docs.id, text: "x", metadata });
    expect(await refusalOf(call)).toBe(error);
  });
});
