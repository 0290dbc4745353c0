// @module-tag all

import { expect, it } from "vitest";
import { allScopes, refusalOf, startSlack } from "./setup.ts";

it("adds and takes away the app's own reactions, once each", async () => {
  await using world = await startSlack({ scopes: [...allScopes, "reactions:write"] });
  const { client, docs, workspace, ada } = world;
  const { ts } = workspace.say({ channel: docs.id, user: ada.id, text: "hello" });
  const reaction = { channel: docs.id, timestamp: ts, name: "eyes" };
  await client.reactions.add(reaction);
  expect(await refusalOf(client.reactions.add(reaction))).toBe("already_reacted");
  const { messages } = await client.conversations.history({ channel: docs.id });
  expect(messages?.[0]?.reactions).toEqual([{ name: "eyes", users: [workspace.bot.userId], count: 1 }]);
  await client.reactions.remove(reaction);
  expect(await refusalOf(client.reactions.remove(reaction))).toBe("no_reaction");
  expect((await client.conversations.history({ channel: docs.id })).messages?.[0]?.reactions).toBe(undefined);
});

it("refuses what can't be reacted to", async () => {
  await using world = await startSlack({ scopes: [...allScopes, "reactions:write"] });
  const { client, docs, workspace, ada } = world;
  const { ts: timestamp } = workspace.say({ channel: docs.id, user: ada.id, text: "hello" });
  const add = (over: object) => client.reactions.add({ channel: docs.id, timestamp, name: "eyes", ...over });
  expect(await refusalOf(add({ name: "👀" }))).toBe("invalid_name");
  expect(await refusalOf(add({ timestamp: "soon" }))).toBe("bad_timestamp");
  expect(await refusalOf(add({ timestamp: "1.000100" }))).toBe("message_not_found");
  const other = workspace.addChannel({ name: "random", members: [ada.id] });
  expect(await refusalOf(add({ channel: other.id }))).toBe("not_in_channel");
  for (let n = 0; n < 23; n += 1) await add({ name: `emoji-${n}` });
  expect(await refusalOf(add({ name: "one-more" }))).toBe("too_many_emoji");
  workspace.archiveChannel(docs.id);
  expect(await refusalOf(add({}))).toBe("is_archived");
});

it("needs reactions:write", async () => {
  await using world = await startSlack();
  const { client, docs } = world;
  const reaction = { channel: docs.id, timestamp: "1.000100", name: "eyes" };
  expect(await refusalOf(client.reactions.add(reaction))).toBe("missing_scope");
});
