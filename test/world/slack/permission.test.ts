// @module-tag all

import { describe, expect, it } from "vitest";
import { allScopes, appToken, makeClient, refusalOf, refused, startSlack } from "./setup.ts";

describe("tokens", () => {
  it("tells the app who it is", async () => {
    await using world = await startSlack();
    const { client, workspace } = world;
    expect(await client.auth.test()).toMatchObject({
      ok: true,
      team_id: workspace.team.id,
      user_id: workspace.bot.userId,
      bot_id: workspace.bot.botId,
    });
  });

  it("refuses calls with no token, a wrong one, or one of the other kind", async () => {
    await using world = await startSlack();
    const { slack, client } = world;
    const response = await fetch(`${slack.apiUrl}auth.test`, { method: "POST" });
    expect(await response.json()).toEqual({ ok: false, error: "not_authed" });
    expect(await refusalOf(makeClient(slack, "xoxb-other").auth.test())).toBe("invalid_auth");
    expect(await refusalOf(makeClient(slack, appToken).auth.test())).toBe("not_allowed_token_type");
    expect(await refusalOf(client.apps.connections.open({}))).toBe("not_allowed_token_type");
    expect(await refusalOf(client.apiCall("chat.postMassage"))).toBe("unknown_method");
  });

  it.each(["token_revoked", "account_inactive", "invalid_auth"] as const)(
    "answers %s when the app was taken out, and works again afterwards",
    async (state) => {
      await using world = await startSlack();
      const { client, workspace } = world;
      workspace.revokeToken(state);
      expect(await refusalOf(client.auth.test())).toBe(state);
      workspace.revokeToken("active");
      await client.auth.test();
    },
  );

  it("keeps tokens out of the call log", async () => {
    await using world = await startSlack();
    const { slack, docs, clock } = world;
    const body = new URLSearchParams({ token: "xoxb-test", channel: docs.id, text: "hi" });
    await fetch(`${slack.apiUrl}chat.postMessage`, { method: "POST", body });
    expect(slack.calls).toEqual([
      { method: "chat.postMessage", args: { channel: docs.id, text: "hi" }, at: clock.now(), result: "ok" },
    ]);
  });
});

describe("scopes", () => {
  it("says which scope is missing", async () => {
    await using world = await startSlack({ scopes: ["users:read", "im:read"] });
    const { client, docs } = world;
    const body = await refused(client.chat.postMessage({ channel: docs.id, text: "x" }));
    expect(body).toMatchObject({
      error: "missing_scope",
      needed: "chat:write",
      provided: "users:read,im:read",
    });
  });

  it("asks for the scope of the kind of conversation", async () => {
    await using world = await startSlack({
      scopes: allScopes.filter((scope) => !scope.startsWith("groups:")),
    });
    const { client, docs, workspace, ada } = world;
    const closed = workspace.addChannel({
      name: "secret",
      members: [ada.id, workspace.bot.userId],
      isPrivate: true,
    });
    await client.conversations.info({ channel: docs.id });
    await client.conversations.history({ channel: docs.id });
    expect(await refused(client.conversations.info({ channel: closed.id }))).toMatchObject({
      error: "missing_scope",
      needed: "groups:read",
    });
    expect(await refused(client.conversations.replies({ channel: closed.id, ts: "1.0" }))).toMatchObject({
      error: "missing_scope",
      needed: "groups:history",
    });
  });

  it("opens no direct message without the scope for it", async () => {
    await using world = await startSlack({ scopes: ["chat:write"] });
    const { client, ada } = world;
    expect(await refusalOf(client.conversations.open({ users: ada.id }))).toBe("missing_scope");
    await client.chat.postMessage({ channel: ada.id, text: "posting opens it all the same" });
  });
});
