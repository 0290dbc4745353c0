// @module-tag all

import { describe, expect, it } from "vitest";
import { refusalOf, startSlack } from "./setup.ts";

describe("reading a thread", () => {
  it("pages through root and replies, oldest first", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    for (const text of ["1", "2", "3", "4"]) {
      workspace.say({ channel: docs.id, user: ada.id, text, threadTs: root.ts });
    }
    const pages: (string | undefined)[][] = [];
    let cursor: string | undefined;
    do {
      const page = await client.conversations.replies({
        channel: docs.id,
        ts: root.ts,
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      });
      pages.push((page.messages ?? []).map((message) => message.text));
      cursor = page.response_metadata?.next_cursor;
      expect(page.has_more).toBe(cursor !== undefined);
    } while (cursor !== undefined);
    expect(pages).toEqual([["root", "1"], ["2", "3"], ["4"]]);
  });

  it("tells metadata only to who asks for it", async () => {
    await using world = await startSlack();
    const { client, docs } = world;
    const metadata = { event_type: "turn", event_payload: { turn: "t1", attempt: 2 } };
    const { ts = "" } = await client.chat.postMessage({ channel: docs.id, text: "x", metadata });
    const silent = await client.conversations.replies({ channel: docs.id, ts });
    const open = await client.conversations.replies({ channel: docs.id, ts, include_all_metadata: true });
    expect(silent.messages?.[0]).not.toHaveProperty("metadata");
    expect(open.messages?.[0]?.metadata).toEqual(metadata);
  });

  it("starts after `oldest`, at it when inclusive, and always with the root", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    const [, second] = ["1", "2", "3"].map((text) =>
      workspace.say({ channel: docs.id, user: ada.id, text, threadTs: root.ts }),
    );
    const args = { channel: docs.id, ts: root.ts, oldest: second?.ts ?? "" };
    const after = await client.conversations.replies(args);
    const from = await client.conversations.replies({ ...args, inclusive: true });
    expect(after.messages?.map((message) => message.text)).toEqual(["root", "3"]);
    expect(from.messages?.map((message) => message.text)).toEqual(["root", "2", "3"]);
  });

  it("does not find a thread that is gone", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    workspace.deleteMessage(docs.id, root.ts);
    expect(await refusalOf(client.conversations.replies({ channel: docs.id, ts: root.ts }))).toBe(
      "thread_not_found",
    );
  });
});

describe("reading a channel", () => {
  it("shows a reply that was sent to the channel as well", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    await client.chat.postMessage({
      channel: docs.id,
      text: "news",
      thread_ts: root.ts,
      reply_broadcast: true,
    });
    const page = await client.conversations.history({ channel: docs.id });
    expect(page.messages?.map((message) => message.text)).toEqual(["news", "root"]);
  });

  it("shows the latest messages first, without replies", async () => {
    await using world = await startSlack();
    const { client, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "one" });
    workspace.say({ channel: docs.id, user: ada.id, text: "reply", threadTs: root.ts });
    workspace.say({ channel: docs.id, user: ada.id, text: "two" });
    const page = await client.conversations.history({ channel: docs.id, limit: 1 });
    const rest = await client.conversations.history({
      channel: docs.id,
      cursor: page.response_metadata?.next_cursor ?? "",
    });
    expect(page.messages?.map((message) => message.text)).toEqual(["two"]);
    expect(rest.messages).toEqual([
      expect.objectContaining({ text: "one", reply_count: 1, thread_ts: root.ts }),
    ]);
  });

  it("reads only where the bot is a member", async () => {
    await using world = await startSlack();
    const { client, workspace, ada } = world;
    const other = workspace.addChannel({ name: "random", members: [ada.id] });
    expect(await refusalOf(client.conversations.history({ channel: other.id }))).toBe("not_in_channel");
    const info = await client.conversations.info({ channel: other.id });
    expect(info.channel).toMatchObject({ name: "random", is_member: false, is_private: false });
  });

  it("introduces people", async () => {
    await using world = await startSlack();
    const { client, ada } = world;
    const info = await client.users.info({ user: ada.id });
    expect(info.user).toMatchObject({
      name: "ada",
      real_name: "Ada Lovelace",
      profile: { display_name: "ada" },
    });
    const { workspace, docs } = world;
    const gus = workspace.addUser({ name: "gus", guest: "single-channel" });
    const olga = workspace.addUser({ name: "olga", home: { teamId: "T0OTHER", enterpriseId: "E0OTHER" } });
    expect((await client.users.info({ user: gus.id })).user).toMatchObject({
      team_id: workspace.team.id,
      is_restricted: true,
      is_ultra_restricted: true,
    });
    const stranger = (await client.users.info({ user: olga.id })).user;
    expect(stranger).toMatchObject({ team_id: "T0OTHER", is_restricted: false, is_stranger: true });
    expect(stranger?.enterprise_user?.enterprise_id).toBe("E0OTHER");
    workspace.invite(docs.id, olga.id);
    expect((await client.users.info({ user: olga.id })).user).toMatchObject({ is_stranger: false });
    const bot = await client.users.info({ user: world.workspace.bot.userId });
    expect(bot.user).toMatchObject({ name: "docs-agent", is_bot: true });
    expect(await refusalOf(client.users.info({ user: "U0NOBODY" }))).toBe("user_not_found");
    expect(await refusalOf(client.conversations.open({ users: "U0NOBODY" }))).toBe("user_not_found");
  });
});

describe("which channels a person is in", () => {
  it("names those that the bot is in, too, a page at a time", async () => {
    await using world = await startSlack();
    const { client, workspace, ada, grace, docs } = world;
    const secret = workspace.addChannel({
      name: "secret",
      members: [ada.id],
      isPrivate: true,
      withBot: true,
    });
    workspace.addChannel({ name: "random", members: [ada.id] });
    workspace.openDirectMessage([ada.id]);
    const of = async (user: string, types: string, cursor = "") => {
      const answer = await client.users.conversations({ user, types, limit: 1, cursor });
      return [answer.channels?.map(({ id }) => id), answer.response_metadata?.next_cursor] as const;
    };
    const both = "public_channel,private_channel";
    const [first, next = ""] = await of(ada.id, both);
    expect(first).toEqual([docs.id]);
    expect(await of(ada.id, both, next)).toEqual([[secret.id], ""]);
    expect(await of(grace.id, both)).toEqual([[docs.id], ""]);
    expect(await refusalOf(client.users.conversations({ types: "channels" }))).toBe("invalid_types");
    expect(await refusalOf(client.users.conversations({ user: "U0NOBODY" }))).toBe("user_not_found");
  });

  it("needs the scope for every kind that is asked for", async () => {
    await using world = await startSlack({ scopes: ["channels:read"] });
    const { client, ada } = world;
    const of = (types: string) => client.users.conversations({ user: ada.id, types });
    expect((await of("public_channel")).channels).toHaveLength(1);
    expect(await refusalOf(of("public_channel,private_channel"))).toBe("missing_scope");
  });
});
