import { describe, expect, it } from "vitest";
import { ANA, BEN, World } from "../support/world.ts";

const SHARED = "C0SHARED";

/** Ana's and Ben's organization is a guest in this channel: events from it name the other one. */
async function start(): Promise<World> {
  const world = await World.start();
  const members = [ANA, BEN];
  world.slack.workspace.addChannel({
    id: SHARED,
    name: "with-acme",
    members,
    hostTeamId: "T0HOST",
    withBot: true,
  });
  return world;
}

describe("in a channel that another organization shares", () => {
  it("a mention in the thread of a command's job is a follow-up", async () => {
    await using world = await start();
    await world.slack.person(ANA).command({ channel: SHARED, text: "fix the install page" });
    const root = await world.until(() => world.slack.messages(SHARED)[0]);
    await world.slack.person(BEN).mention({ channel: SHARED, threadTs: root.ts, text: "and the FAQ" });
    await world.until(() => world.service.messages.length === 1);
    expect(world.service.messages[0]?.prompt.split("\n", 1)).toEqual(["and the FAQ"]);
    expect(world.service.creates).toHaveLength(1);
  });

  it("what somebody unticked leaves Slack with no later request", async () => {
    await using world = await start();
    const { slack, service } = world;
    const root = slack.workspace.say({ channel: SHARED, user: BEN, text: "the FAQ is wrong" });
    const place = { channel: SHARED, threadTs: root.ts };
    slack.workspace.say({ ...place, user: ANA, text: "my password is hunter2" });
    await slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: SHARED, messageTs: root.ts });
    const form = await slack.until(() => {
      const open = slack.openViews(ANA).at(-1);
      return JSON.stringify(open?.view ?? "").includes("hunter2") ? open : undefined;
    });
    await slack.person(ANA).submit({ viewId: form.id, values: { share_0: { share: root.ts } } });
    await world.until(() => service.creates.length === 1);
    await slack.person(BEN).mention({ ...place, text: "new: and the glossary" });
    await world.until(() => service.creates.length === 2);
    expect(service.creates[1]?.prompt).toContain("> the FAQ is wrong");
    expect(JSON.stringify(service.calls)).not.toContain("hunter2");
  });
});
