// @module-tag all

import { expect, it } from "vitest";
import { allScopes, startSlack } from "./setup.ts";

const divider = { type: "divider" } as const;

it("publishes a Home tab, and refuses what Slack refuses", async () => {
  await using world = await startSlack();
  const { slack, ada, client } = world;
  const publish = (blocks: (typeof divider)[], hash?: string) =>
    client.views.publish({
      user_id: ada.id,
      view: { type: "home", blocks },
      ...(hash === undefined ? {} : { hash }),
    });
  expect(slack.home(ada.id)).toBeUndefined();
  const { view } = await publish([divider]);
  expect(slack.home(ada.id)).toHaveLength(1);
  await publish([divider, divider], view?.hash ?? "");
  await expect(publish([divider], view?.hash ?? "")).rejects.toThrow("hash_conflict");
  const many = Array.from({ length: 101 }, () => divider);
  await expect(publish(many)).rejects.toThrow("invalid_arguments");
  expect(slack.home(ada.id)).toHaveLength(2);
});

it("has no Home tab where the app's settings have none", async () => {
  await using world = await startSlack({ hasHome: false });
  const view = { type: "home", blocks: [divider] } as const;
  await expect(
    world.client.views.publish({ user_id: world.ada.id, view: { ...view, blocks: [divider] } }),
  ).rejects.toThrow("not_enabled");
});

it("lists the members of a group that it knows, for who may ask", async () => {
  await using world = await startSlack({ scopes: [...allScopes, "usergroups:read"] });
  const { workspace, ada, client } = world;
  workspace.addGroup({ id: "S0DOCS", handle: "docs", name: "Docs", users: [ada.id] });
  const list = (usergroup: string) => client.usergroups.users.list({ usergroup });
  expect((await list("S0DOCS")).users).toEqual([ada.id]);
  await expect(list("S0NONE")).rejects.toThrow("no_such_subteam");
  await using without = await startSlack();
  await expect(without.client.usergroups.users.list({ usergroup: "S0DOCS" })).rejects.toThrow(
    "missing_scope",
  );
});
