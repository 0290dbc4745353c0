import { createServer } from "node:http";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { PNG, pngOf } from "../support/attachments.ts";
import { ANA, BEN, BOT_TOKEN, DOCS, World } from "../support/world.ts";
import { MINUTE_MS, askedFor, ask, done, jobOf, reply, said } from "../support/threads.ts";

const shot = { name: "shot.png", mimetype: "image/png", content: PNG };
const notes = { name: "notes.md", mimetype: "text/plain", content: "über 🦊" };
const program = { name: "setup.exe", mimetype: "application/octet-stream", content: "MZ" };
const TAKES = { jobService: OFFERS_EVERYTHING };

function creates({ service }: World) {
  return service.calls.filter(({ op }) => op === "create");
}

/** A message of Ben's with files. */
function share(
  world: World,
  files: (typeof shot | typeof notes)[],
  text = "look at this",
  threadTs?: string,
) {
  return world.slack.workspace.say({
    channel: DOCS,
    user: BEN,
    text,
    files,
    ...(threadTs === undefined ? {} : { threadTs }),
  });
}

describe("files", () => {
  it("of the mention and of its thread reach a service that takes them, byte for byte", async () => {
    await using world = await World.start(TAKES);
    const root = share(world, [shot]);
    await world.slack
      .person(ANA)
      .mention({ channel: DOCS, threadTs: root.ts, text: "fix that", files: [notes, program] });
    await world.until(() => creates(world).length === 1);
    const [create] = creates(world);
    expect(create?.attachments).toEqual([
      { name: "notes.md", mediaType: "text/plain", data: Buffer.from("über 🦊").toString("base64") },
      { name: "shot.png", mediaType: "image/png", data: PNG.toString("base64") },
    ]);
    expect(create?.prompt).toContain("> look at this\n> [file: shot.png]");
    await world.until(() => said(world, root)[0]?.join("\n").includes("Sent along: notes.md, shot.png"));
    expect(said(world, root)[0]?.join("\n")).toContain(
      "⚠️ The agent can't read setup.exe, so I didn't send it.",
    );
  });

  it("are named, and not downloaded, where the service takes none", async () => {
    await using world = await World.start();
    const root = share(world, [shot]);
    await reply(world, root, "fix that", ANA);
    await world.until(() => creates(world).length === 1);
    expect(creates(world)[0]?.attachments).toEqual([]);
    expect(world.slack.downloads).toEqual([]);
    await world.until(() => said(world, root)[0]?.join("\n").includes("The agent can't read shot.png"));
  });

  it.each<[string, { name: string; mimetype: string; content: Buffer | string }]>([
    ["is not what it says", { ...shot, content: "GIF89a" }],
    ["is too large", { ...shot, content: pngOf(4 * 1024 ** 2 + 1) }],
    ["is empty", { ...notes, content: "" }],
  ])("one that %s is left out, and the request goes through", async (_, file) => {
    await using world = await World.start(TAKES);
    const root = share(world, [file as typeof shot, notes]);
    await reply(world, root, "fix that", ANA);
    await world.until(() => world.service.creates.length === 1);
    expect(creates(world)[0]?.attachments.map(({ name }) => name)).toEqual(["notes.md"]);
    await world.until(() => said(world, root)[0]?.join("\n").includes(`can't read ${file.name}`));
  });

  it("stay in Slack without the scope, and the request goes through at once", async () => {
    await using world = await World.start({ ...TAKES, withoutScopes: ["files:read"] });
    const root = share(world, [shot, notes]);
    await reply(world, root, "fix that", ANA);
    await world.settle();
    expect(creates(world)[0]?.attachments).toEqual([]);
    await world.until(() =>
      said(world, root)[0]?.join("\n").includes("I couldn't get shot.png, notes.md from Slack"),
    );
  });

  it("go with the token to Slack alone, whatever address a message names", async () => {
    const seen: unknown[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers);
      response.end("x");
    }).listen(0, "127.0.0.1");
    await once(elsewhere, "listening");
    const address = elsewhere.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    await using world = await World.start(TAKES);
    const root = share(world, [shot]);
    world.slack.workspace.filesUrl = `http://127.0.0.1:${port}/`;
    await reply(world, root, "fix that", ANA);
    await world.until(() => world.service.creates.length === 1);
    expect(creates(world)[0]?.attachments).toEqual([]);
    expect(seen).toEqual([]);
    elsewhere.close();
    expect(JSON.stringify(world.logger.lines)).not.toContain(BOT_TOKEN);
  });

  it("are the same ones when a create is sent again after a restart", { tags: "all" }, async () => {
    await using world = await World.start(TAKES);
    await ask(world);
    const root = share(world, [shot, notes]);
    world.service.faults.add({ op: "create", fault: { kind: "drop-after" } });
    await reply(world, root, "fix that", ANA);
    await world.settle();
    await world.stopApp();
    await world.startApp();
    await world.until(() => creates(world).length === 3);
    const [, first, second] = creates(world);
    expect(first?.attachments).toHaveLength(2);
    expect(second).toEqual(first);
  });
});

describe("without a mention", () => {
  const NO_WORDS = "I see a file but no request. Tell me what should change, in a reply to it.";

  it("files of a direct message go along, and are asked about where there are no words", async () => {
    await using world = await World.start(TAKES);
    const { slack, service } = world;
    const channel = slack.workspace.openDirectMessage([ANA]).id;
    const alone = await slack.person(ANA).say({ channel, text: "", files: [shot] });
    if (alone.delivery !== undefined) await slack.redeliver(alone.delivery, { retryNum: 1 });
    await slack.until(() => slack.ephemerals(ANA).length > 0);
    await world.pass(MINUTE_MS);
    expect(slack.ephemerals(ANA).map((shown) => slack.visibleText(shown))).toEqual([NO_WORDS]);
    expect(service.creates).toEqual([]);

    await slack.person(ANA).say({ channel, threadTs: alone.message.ts, text: "fix that", files: [notes] });
    await world.until(() => creates(world).length === 1);
    expect(creates(world)[0]?.attachments.map(({ name }) => name)).toEqual(["notes.md", "shot.png"]);
  });

  it("a mention that is nothing but files is asked what should change", async () => {
    await using world = await World.start(TAKES);
    const { slack } = world;
    const { status } = await slack.person(ANA).mention({ channel: DOCS, text: "", files: [shot] });
    expect(status).toBe(200);
    await slack.until(() => slack.ephemerals(ANA).length > 0);
    expect(slack.ephemerals(ANA).map((shown) => slack.visibleText(shown))).toEqual([NO_WORDS]);
    expect(world.service.creates).toEqual([]);
  });

  it.each(["ask", "requester"])(
    "files of a reply go along as well (FOLLOW_UPS=%s)",
    { tags: "all" },
    async (policy) => {
      await using world = await World.start({ ...TAKES, env: { FOLLOW_UPS: policy } });
      const { slack, service } = world;
      const root = await done(world);
      const say = (text: string, file: typeof shot | typeof notes, who = ANA) =>
        slack.person(who).say({ channel: DOCS, threadTs: root.ts, text, files: [file] });
      await say("", notes);
      await say("", shot, BEN);
      await world.pass(MINUTE_MS);
      // Whoever talks to others isn't asked; the files go along with the next follow-up.
      const asked = slack.ephemerals().map((shown) => slack.visibleText(shown));
      expect(asked).toEqual(policy === "ask" ? [] : [NO_WORDS]);
      await say("as in this shot", shot);
      if (policy === "ask") {
        const question = await slack.until(() => slack.ephemerals(ANA)[0]);
        const messageTs = question.ts;
        await slack.person(ANA).click({ channel: DOCS, messageTs, ephemeral: true, actionId: "send_reply" });
      }
      await world.until(() => service.messages.length === 1);
      const [message] = service.calls.filter(({ op }) => op === "message");
      expect(message?.attachments.map(({ name }) => name)).toEqual(["shot.png", "shot.png", "notes.md"]);
      expect(service.messages[0]?.jobId).toBe(jobOf(world));
    },
  );
});

it("the shortcut's form names the files; those of a message that is unticked stay in Slack", async () => {
  await using world = await World.start(TAKES);
  await ask(world);
  const root = share(world, [shot, program]);
  const other = share(world, [notes], "and this", root.ts);
  await world.slack
    .person(ANA)
    .shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: other.ts });
  const view = await world.slack.until(() => {
    const open = world.slack.openViews(ANA).at(-1);
    return JSON.stringify(open?.view ?? "").includes("share_0") ? open : undefined;
  });
  expect(JSON.stringify(view.view)).toContain("With files: notes.md, shot.png");
  expect(JSON.stringify(view.view)).toContain("The agent can't read setup.exe, so I won't send it.");
  await world.slack.person(ANA).submit({ viewId: view.id, values: { share_0: { share: other.ts } } });
  await world.until(() => creates(world).length === 2);
  expect(creates(world)[1]?.attachments.map(({ name }) => name)).toEqual(["notes.md"]);
  expect(askedFor(creates(world)[1] as { prompt: string })).toBe("Fix the problem this message describes.");
});
