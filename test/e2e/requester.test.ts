// @module-tag all

import { expect, it } from "vitest";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { MINUTE_MS, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, SECRET_CHANNEL, World } from "../support/world.ts";

const TAKES = { jobService: OFFERS_EVERYTHING };

function sent({ service }: World) {
  return service.calls
    .filter(({ op }) => op === "create" || op === "message")
    .map(({ words, requester, authors }) => ({ words, requester, ...(authors && { authors }) }));
}

/** The address that Slack's client copies for a message. */
function link(channel: string, ts = ""): unknown {
  return expect.stringMatching(new RegExp(`^https://.*/archives/${channel}/p${ts.replace(".", "")}$`));
}

/** Ana's form on a message. */
async function formOn(world: World, messageTs: string) {
  await world.slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs });
  return world.form(ANA);
}

it("the job service is told the person's own words apart from what they quote, who they are, and whether others can read it", async () => {
  await using world = await World.start(TAKES);
  const { slack } = world;
  slack.workspace.invite(SECRET_CHANNEL);
  const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "the install page is old" });
  await reply(world, root, "fix that", ANA);
  await world.until(() => sent(world).length === 1);
  await reply(world, root, "and the FAQ");
  await world.until(() => sent(world).length === 2);
  const own = slack.workspace.say({ channel: DOCS, user: BEN, text: "the FAQ is old" });
  await slack.person(ANA).submit({ viewId: (await formOn(world, own.ts)).id });
  await world.until(() => sent(world).length === 3);
  const values = { instructions: { instructions: "  name the new host " } };
  await slack.person(ANA).submit({ viewId: (await formOn(world, own.ts)).id, values });
  await world.until(() => sent(world).length === 4);
  await slack.person(ANA).command({ channel: SECRET_CHANNEL, text: "fix the secret page" });
  await world.until(() => sent(world).length === 5);
  const ana = { name: "Ana", isPrivate: false };
  expect(sent(world).map(({ words, requester }) => ({ words, requester }))).toEqual([
    { words: "fix that", requester: { ...ana, link: link(DOCS, root.ts) } },
    { words: "and the FAQ", requester: { ...ana, name: "Ben", link: link(DOCS, root.ts) } },
    { words: null, requester: { ...ana, link: link(DOCS, own.ts) } },
    { words: "name the new host", requester: { ...ana, link: link(DOCS, own.ts) } },
    // Its thread begins with the status message, for which the create doesn't wait.
    {
      words: "fix the secret page",
      requester: { name: "Ana", isPrivate: true, link: sent(world)[4]?.requester?.link ?? null },
    },
  ]);
});

it("where Slack says nothing of the place, it counts as private, and an id stands for the name", async () => {
  await using world = await World.start({ ...TAKES, withoutScopes: ["channels:read", "groups:read"] });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
  await world.until(() => sent(world).length === 1);
  expect(sent(world)[0]).toMatchObject({ requester: { name: "Ana", isPrivate: true } });
});

it("the job service is told who wrote each quoted message, by ids, so that names may be the same", async () => {
  await using world = await World.start({ ...TAKES });
  const { slack, service } = world;
  slack.workspace.addUser({ id: BEN, name: "ben", displayName: "Ana" });
  const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "the install page is old" });
  const own = slack.workspace.say({ channel: DOCS, user: ANA, text: "it is", threadTs: root.ts });
  await reply(world, root, "fix that", ANA);
  await world.until(() => sent(world).length === 1);
  await slack.person(ANA).submit({ viewId: (await formOn(world, own.ts)).id });
  await world.until(() => sent(world).length === 2);
  await slack.person(BEN).command({ channel: DOCS, text: "fix the FAQ" });
  await world.until(() => sent(world).length === 3);
  const calls = service.calls.filter(({ op }) => op === "create" || op === "message");
  expect(calls[0]?.prompt?.match(/^Ana, .*$/gm)).toHaveLength(2);
  expect(calls.map(({ authors }) => authors)).toEqual([
    { requester: ANA, quoted: [BEN, ANA] },
    { requester: ANA, quoted: [ANA] },
    { requester: BEN, quoted: [] },
  ]);
});

it("a create that is sent again is the same, although the person has another name meanwhile", async () => {
  await using world = await World.start({ ...TAKES });
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => sent(world).length === 1);
  service.faults.add({ op: "create", times: 20, fault: { kind: "drop-after" } });
  await slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
  await world.until(() => sent(world).length === 2);
  slack.workspace.addUser({ id: ANA, name: "ana", displayName: "Ana B." });
  await world.pass(60 * MINUTE_MS);
  expect(sent(world).length).toBeGreaterThan(15);
  expect(new Set(sent(world).map((call) => JSON.stringify(call))).size).toBe(2);
  expect(service.creates).toHaveLength(2);
});

it("a service that doesn't announce that it takes them gets the prompt alone", async () => {
  await using world = await World.start({ jobService: { idempotencyKeys: true } });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
  await world.until(() => sent(world).length === 1);
  expect(sent(world)).toEqual([{ words: null, requester: null }]);
  expect(world.service.creates).toHaveLength(1);
});

it.each([
  ["does not answer", { kind: "drop-before" }],
  ["fails", { kind: "status", status: 500 }],
  ["has something broken in front of it", { kind: "gateway", status: 502 }],
  ["takes no more now", { kind: "status", status: 429, headers: { "retry-after": "600" } }],
] as const)(
  "a service that %s when it is first asked what it takes gets nothing until it has said",
  async (_, fault) => {
    await using world = await World.start(TAKES);
    world.service.faultsOfLooks.add({ op: "get", times: 2, fault });
    const sentAt = world.clock.now();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
    await world.until(() => world.read(DOCS)[0]?.includes("Your request is saved"));
    expect(sent(world)).toEqual([]);
    await world.until(() => sent(world).length === 1, 60 * MINUTE_MS);
    expect(sent(world)).toMatchObject([{ words: "fix the FAQ", requester: { name: "Ana" } }]);
    const waitedMs = world.clock.now() - sentAt;
    expect(waitedMs >= 20 * MINUTE_MS).toBe("headers" in fault);
  },
);
