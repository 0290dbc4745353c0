// @module-tag all

import { expect, it } from "vitest";
import type { MessageAttachment } from "../../world/slack/index.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const GUS = "U0GUS";
const OLA = "U0OLA";
const SECRET = "the payroll is in the attic";
const TAKES = { jobService: OFFERS_EVERYTHING };

/** A world with Gus, a guest, and Ola, of another organization. */
async function start(): Promise<World> {
  const world = await World.start(TAKES);
  world.slack.workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
  world.slack.workspace.addUser({ id: OLA, name: "ola", home: { teamId: "T0ELSEWHERE" } });
  return world;
}

const uploaded = (user: string) => ({ user, name: `${SECRET}.md`, mimetype: "text/plain", content: SECRET });

/** A message of Ben's with a file of somebody else's, as it looks where somebody forwards it. */
function forwarded(user: string, how: "in it" | "in its blocks"): MessageAttachment {
  const clip = {
    id: "F0CLIP",
    user,
    name: "clip.m4a",
    title: `${SECRET} title`,
    alt_txt: `${SECRET} described`,
    mimetype: "audio/mp4",
    size: 9,
    url_private_download: "https://files.slack.com/clip",
    transcription: { status: "complete", preview: { content: SECRET, has_more: false } },
  };
  const inner = { ts: "1764300000.000100", message: { user: BEN, text: "listen", files: [clip] } };
  return {
    id: 1,
    is_share: true,
    author_id: BEN,
    ts: "1764300000.000100",
    text: "listen",
    fallback: "listen",
    ...(how === "in it" ? { files: [clip] } : { message_blocks: [inner] }),
  } as MessageAttachment;
}

/** What reaches the service, open forms and what the app posts. */
function leaked({ slack, service }: World): string {
  const posted = slack.messages(DOCS).filter(({ bot_id: id }) => id !== undefined);
  return JSON.stringify([service.calls, slack.openViews(BEN), posted]);
}

const WAYS = [GUS, OLA].flatMap((who) => [false, true].map((areByIdOnly) => [who, areByIdOnly] as const));

it.each(WAYS)(
  "a file that %s uploaded stays in Slack, whoever shares it (by id only: %s)",
  async (...way) => {
    const [who, areByIdOnly] = way;
    await using world = await start();
    const { slack, service } = world;
    slack.workspace.fileSettings.areByIdOnly = areByIdOnly;
    const files = [uploaded(who), { ...uploaded(ANA), name: "own.md", content: "mine" }];
    // Before the app knows what its service takes, it asks.
    await slack.person(ANA).command({ channel: DOCS, text: "warm up" });
    await world.until(() => service.creates.length === 1);
    await slack.person(ANA).mention({ channel: DOCS, text: "fix it", files });
    await world.until(() => service.creates.length === 2);
    await world.until(() => world.read(DOCS).some((text) => text.includes("Left out: 1 file by a guest")));
    const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "see this", files });
    await slack.person(BEN).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: root.ts });
    await slack.until(() =>
      JSON.stringify(slack.openViews(BEN)).includes("Left out: 1 file by a guest") ? true : undefined,
    );
    await slack.person(BEN).submit({ viewId: (await world.form(BEN)).id });
    await world.until(() => service.creates.length === 3);
    await reply(world, root, "new job the FAQ, too", ANA);
    await world.until(() => service.creates.length === 4);
    const sent = service.calls.filter(({ op }) => op === "create").map(({ attachments }) => attachments);
    expect(sent.map((all) => all.map(({ name }) => name))).toEqual([[], ["own.md"], ["own.md"], ["own.md"]]);
    expect(leaked(world)).not.toContain(SECRET);
    expect(leaked(world)).not.toContain(Buffer.from(SECRET).toString("base64"));
  },
);

it.each([GUS, OLA].flatMap((who) => (["in it", "in its blocks"] as const).map((how) => [who, how] as const)))(
  "a file of %s in a message that somebody forwards stays in Slack (%s)",
  async (who, how) => {
    await using world = await start();
    const { slack, service } = world;
    const attachments = [forwarded(who, how)];
    await slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments });
    const { prompt } = await world.until(() => service.creates[0]);
    expect(prompt).toContain("> listen");
    expect(prompt).toContain("> [left out: 1 file by a guest]");
    const root = slack.workspace.post({ channel: DOCS, user: BEN, text: "see this", attachments });
    await slack.person(BEN).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: root.ts });
    await slack.person(BEN).submit({ viewId: (await world.form(BEN)).id });
    await world.until(() => service.creates.length === 2);
    expect(leaked(world)).not.toContain(SECRET);
    expect(leaked(world)).not.toContain("clip.m4a");
  },
);

it("a file of another member goes along under its own name", async () => {
  await using world = await start();
  await world.slack
    .person(ANA)
    .mention({ channel: DOCS, text: "fix it", attachments: [forwarded(ANA, "in it")] });
  const { prompt } = await world.until(() => world.service.creates[0]);
  expect(prompt).toMatch(/^File by .+:\n(> .*\n)*> Transcript of clip\.m4a: the payroll/m);
});
