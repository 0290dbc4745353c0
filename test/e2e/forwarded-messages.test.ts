import { describe, expect, it } from "vitest";
import type { MessageAttachment } from "../../world/slack/index.ts";
import { reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const GUS = "U0GUS";
const OLA = "U0OLA";
const SECRET = "the payroll is in the attic";
const SUPPORT = "C0SUPPORT";

/** A world with Gus, a guest, and Ola, of another organization. */
async function start(): Promise<World> {
  const world = await World.start();
  const { workspace } = world.slack;
  workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
  workspace.addUser({ id: OLA, name: "ola", home: { teamId: "T0ELSEWHERE" } });
  workspace.addChannel({ id: SUPPORT, name: "support", members: [ANA, BEN, GUS, OLA], withBot: true });
  return world;
}

/** A message as it looks where somebody forwards it. */
function forwarded(more: Partial<MessageAttachment> = {}): MessageAttachment {
  return {
    id: 1,
    is_msg_unfurl: true,
    is_share: true,
    author_id: BEN,
    author_name: "Ben",
    channel_id: SUPPORT,
    ts: "1764300000.000100",
    text: "the retry header is X-Retry-In",
    fallback: "[November 28th] ben: the retry header is X-Retry-In",
    ...more,
  };
}

/** The prompt of the newest job, and how many lines of it are quoted. */
async function promptOf(world: World, n = 0): Promise<string> {
  return (await world.until(() => world.service.creates[n])).prompt;
}

describe("a message that forwards another", () => {
  it("asks about it, and the thread says that it went along", async () => {
    await using world = await start();
    const { message } = await world.slack
      .person(ANA)
      .mention({ channel: DOCS, text: "correct the docs", attachments: [forwarded()] });
    const lines = (await promptOf(world)).split("\n");
    expect(lines[0]).toBe("correct the docs");
    expect(lines).toContain("Forwarded message by Ben, 2025-11-28 03:20 UTC:");
    expect(lines).toContain("> the retry header is X-Retry-In");
    await world.until(() => world.replies(DOCS, message.ts).some(({ text }) => text !== ""));
    await world.until(() => world.read(DOCS).some((text) => text.includes("With the forwarded message")));
  });

  it("tells the agent what was left out of it, if nothing else is left", { tags: "all" }, async () => {
    await using world = await start();
    const image = forwarded({ text: "", fallback: "", image_url: "https://example.com/a.png" } as never);
    await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments: [image] });
    expect(await promptOf(world)).toMatch(/^Forwarded message by Ben.*:\n.*\n> \[left out: 1 image\]$/m);
  });

  it("is a request by itself, in a direct message and in a channel", async () => {
    await using world = await start();
    const { channel } = await world.slack.person(ANA).openApp();
    await world.slack.person(ANA).say({ channel: channel.id, text: "", attachments: [forwarded()] });
    expect(await promptOf(world)).toMatch(/^Fix the problem this message describes\.\n[\s\S]*X-Retry-In/);
    await world.slack.person(ANA).mention({ channel: DOCS, text: "", attachments: [forwarded()] });
    expect(await promptOf(world, 1)).toContain("> the retry header is X-Retry-In");
    await world.until(() => world.read(DOCS).some((text) => text.includes("asked the agent to fix this")));
  });

  it("is a request by itself if the other one is only a screenshot", async () => {
    await using world = await start();
    const shot = { id: "F0SHOT", name: "menu.png", mimetype: "image/png", size: 16 };
    const { channel } = await world.slack.person(ANA).openApp();
    const attachments = [forwarded({ text: "", fallback: "[no preview available]", files: [shot] })];
    await world.slack.person(ANA).say({ channel: channel.id, text: "", attachments });
    expect(await promptOf(world)).toMatch(/^Fix the problem this message describes\.\n[\s\S]*menu\.png/);
  });

  it("is answered with help if it forwards only what stays in Slack", async () => {
    await using world = await start();
    await world.slack
      .person(ANA)
      .mention({ channel: DOCS, text: "", attachments: [forwarded({ author_id: GUS, text: SECRET })] });
    await world.until(() => world.slack.ephemerals(ANA).length > 0);
    expect(world.service.creates).toEqual([]);
  });

  it("brings its files and its blocks along, and says what was left out", async () => {
    await using world = await start();
    const table = {
      type: "table",
      rows: [[{ type: "raw_text", text: "Plan" }], [{ type: "raw_text", text: "Scale" }]],
    };
    const image = { type: "image", image_url: "https://example.com/a.png", alt_text: "the old menu" };
    await world.slack.person(ANA).mention({
      channel: DOCS,
      text: "fix it",
      attachments: [
        forwarded({
          files: [{ id: "F0MENU", name: "menu.png", mimetype: "image/png", size: 10 }],
          message_blocks: [
            { ts: "1764300000.000100", message: { user: BEN, blocks: [table, image, image] } },
          ],
        }),
      ],
    });
    const prompt = await promptOf(world);
    for (const line of [
      "> Plan",
      "> Scale",
      "> the old menu",
      "> [file: menu.png]",
      "> [left out: 2 images]",
    ]) {
      expect(prompt.split("\n")).toContain(line);
    }
    await world.until(() =>
      world.read(DOCS).some((text) => text.includes("Left out: 2 images of the forwarded message")),
    );
    expect(world.read(DOCS).some((text) => text.includes("The agent can't read menu.png"))).toBe(true);
    const root = world.slack.messages(DOCS)[0]?.ts ?? "";
    await world.slack.person(BEN).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: root });
    const { view } = await world.form(BEN);
    expect(JSON.stringify(view)).toContain("Left out: 2 images of the forwarded message");
  });
});

const message = (user: string, text: string, more: Record<string, unknown> = {}) => ({
  ts: "1764300000.000100",
  message: { user, text, ...more },
});

describe("what may not leave Slack stays there, wherever a message shows it", () => {
  const others: [string, Partial<MessageAttachment>][] = [
    ["forwarded", { text: SECRET, fallback: SECRET }],
    ["unfurled", { is_share: undefined as never, text: SECRET, fallback: SECRET }],
    ["named by the address of its author", { author_id: "", text: SECRET, fallback: SECRET }],
    ["in message_blocks", { author_id: "", text: SECRET, message_blocks: [message(GUS, SECRET)] }],
    [
      "in message_blocks of a member's",
      { author_id: BEN, text: SECRET, message_blocks: [message(GUS, SECRET)] },
    ],
    [
      "forwarded by a member",
      {
        author_id: BEN,
        message_blocks: [
          message(BEN, "look", { attachments: [forwarded({ author_id: GUS, text: SECRET })] }),
        ],
      },
    ],
    [
      "in what shows a member's message",
      {
        message_blocks: [
          message(GUS, SECRET, { attachments: [forwarded({ author_id: BEN, text: SECRET })] }),
        ],
      },
    ],
    [
      "in a block",
      { text: "", message_blocks: [message(GUS, "", { blocks: [{ type: "markdown", text: SECRET }] })] },
    ],
    ["in a file", { text: "", files: [{ id: "F1", name: `${SECRET}.txt` }] }],
    ["in an attachment's field", { fields: [{ title: "Note", value: SECRET }] } as never],
  ];

  it.each([GUS, OLA].flatMap((who) => others.map(([how, more]) => [who, how, more] as const)))(
    "of %s, %s: not in a prompt, a form or a message",
    { tags: "all" },
    async (who, _, more) => {
      await using world = await start();
      const text = JSON.stringify(
        forwarded({ author_id: who, author_link: `https://acme.slack.com/team/${who}`, ...more }),
      );
      const attachments = [JSON.parse(text.replaceAll(GUS, who)) as MessageAttachment];
      await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments });
      expect(await promptOf(world)).toContain("fix it");
      const root = world.slack.workspace.post({ channel: DOCS, user: BEN, text: "see this", attachments });
      await world.slack
        .person(BEN)
        .shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: root.ts });
      const form = await world.form(BEN);
      expect(JSON.stringify(form.view)).not.toContain(SECRET);
      await world.slack.person(BEN).submit({ viewId: form.id });
      expect(await promptOf(world, 1)).toContain("see this");
      await reply(world, root, "new job the FAQ, too", ANA);
      expect(await promptOf(world, 2)).toContain("see this");
      expect(JSON.stringify(world.service.calls)).not.toContain(SECRET);
      // Nothing of it is posted either.
      const posted = world.slack.messages(DOCS).filter(({ bot_id: id }) => id !== undefined);
      expect(JSON.stringify(posted)).not.toContain(SECRET);
      expect(world.read(DOCS).some((said) => /guest/.test(said))).toBe(true);
    },
  );

  it("stays in Slack if somebody unchecked it before, also in message_blocks", async () => {
    await using world = await start();
    const { slack, service } = world;
    const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "look" });
    const place = { channel: DOCS, threadTs: root.ts };
    const secret = slack.workspace.say({ ...place, user: ANA, text: SECRET });
    await slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: root.ts });
    const form = await slack.until(() => {
      const open = slack.openViews(ANA).at(-1);
      return JSON.stringify(open?.view ?? "").includes("Reading the thread") ? undefined : open;
    });
    await slack.person(ANA).submit({ viewId: form.id, values: { share_0: { share: root.ts } } });
    await promptOf(world);
    const inner = { ts: secret.ts, message: { user: ANA, text: SECRET } };
    for (const attachments of [
      [forwarded({ author_id: ANA, ts: secret.ts, text: SECRET })],
      [forwarded({ message_blocks: [inner] })],
      [
        forwarded({
          text: "",
          message_blocks: [message(BEN, "so", { attachments: [forwarded({ ts: secret.ts, text: SECRET })] })],
        }),
      ],
    ]) {
      const count = service.creates.length;
      await slack.person(ANA).mention({ ...place, text: "new job once more", attachments });
      expect(await promptOf(world, count)).toContain("once more");
    }
    expect(JSON.stringify(service.calls)).not.toContain(SECRET);
  });
});

describe("names in what a person types", () => {
  it("stand in the request, also in a direct message and in a reply", async () => {
    await using world = await World.start({ env: { FOLLOW_UPS: "requester" } });
    world.slack.workspace.addGroup({ id: "S0DOCS", handle: "docs-team", name: "Docs team" });
    const text = `add what <@${BEN}> said in <#${DOCS}> for <!subteam^S0DOCS>`;
    const named = "add what @Ben said in #docs for @docs-team";
    await world.slack.person(ANA).mention({ channel: DOCS, text });
    expect(await promptOf(world)).toBe(named);
    const { channel } = await world.slack.person(ANA).openApp();
    await world.slack.person(ANA).say({ channel: channel.id, text });
    expect(await promptOf(world, 1)).toBe(named);
  });

  it("come within a second, and stay ids otherwise", { tags: "all" }, async () => {
    await using world = await World.start();
    world.slack.faults.add({ method: "usergroups.list", times: 100, fault: { kind: "hang" } });
    const said = world.slack
      .person(ANA)
      .mention({ channel: DOCS, text: "credit <!subteam^S0DOCS> in the FAQ" });
    await world.slack.until(() => world.slack.calls.some(({ method }) => method === "usergroups.list"));
    await world.pass(1_000);
    expect((await said).status).toBe(200);
    expect(await promptOf(world)).toBe("credit a user group in the FAQ");
  });

  it("need no scope: without usergroups:read a group is a user group", async () => {
    await using world = await World.start({ withoutScopes: ["usergroups:read"] });
    await world.slack.person(ANA).mention({ channel: DOCS, text: "credit <!subteam^S0DOCS> in the FAQ" });
    expect(await promptOf(world)).toBe("credit a user group in the FAQ");
  });
});

it(
  "no-break spaces are spaces where words are read, and become spaces in code",
  { tags: "all" },
  async () => {
    await using world = await World.start();
    await world.slack.person(ANA).mention({
      channel: DOCS,
      text: "\u00a0use `npm\u00a0install\u202fx`, not\u00a0yarn:\n```a\u00a0b```",
    });
    expect(await promptOf(world)).toBe("use `npm install x`, not\u00a0yarn:\n```a b```");
    await world.slack.person(ANA).mention({ channel: DOCS, text: "list\u00a0channel" });
    await world.until(() => world.slack.ephemerals(ANA).length > 0);
    expect(world.service.creates).toHaveLength(1);
  },
);
