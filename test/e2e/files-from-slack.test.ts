// @module-tag all

import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { OFFERS_EVERYTHING, TELLS_CHANGES } from "../support/service-kinds.ts";
import { PNG } from "../support/attachments.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";
import { ask, reply, said } from "../support/threads.ts";

const shot = { name: "shot.png", mimetype: "image/png", content: PNG };
const notes = { name: "notes.md", mimetype: "text/plain", content: "über 🦊" };
const TAKES = { jobService: OFFERS_EVERYTHING };

const INFO = "files.info";
const HISTORY = "conversations.history";
const REPLIES = "conversations.replies";

function creates({ service }: World) {
  return service.calls.filter(({ op }) => op === "create");
}

function namesSent(world: World, n = 0): string[] {
  return (creates(world)[n]?.attachments ?? []).map(({ name }) => name);
}

/** How often the app called a method of Slack's. */
function calls({ slack }: World, wanted: string): number {
  return slack.calls.filter(({ method }) => method === wanted).length;
}

function share(world: World, files: (typeof shot | typeof notes)[]) {
  return world.slack.workspace.say({ channel: DOCS, user: BEN, text: "look at this", files });
}

/** What the thread says of files, once the request has been sent. */
async function notesIn(world: World, root: SlackMessage): Promise<string> {
  const noted = await world.until(() => said(world, root).find((lines) => lines.join("\n").includes(".png")));
  return noted.join("\n");
}

describe("files that messages have by their ids alone", () => {
  it("are looked up, go along with their names, and are the same when a create is sent again", async () => {
    await using world = await World.start(TAKES);
    world.slack.workspace.fileSettings.areByIdOnly = true;
    await ask(world);
    const root = share(world, [shot]);
    world.service.faults.add({ op: "create", fault: { kind: "drop-after" } });
    await world.slack
      .person(ANA)
      .mention({ channel: DOCS, threadTs: root.ts, text: "fix that", files: [notes] });
    await world.until(() => creates(world).length === 3);
    expect(namesSent(world, 1)).toEqual(["notes.md", "shot.png"]);
    expect(creates(world)[1]?.prompt).toContain("> look at this\n> [file: shot.png]");
    expect(creates(world)[2]).toEqual(creates(world)[1]);
    expect(calls(world, INFO)).toBe(2);
    expect(await notesIn(world, root)).toContain("Sent along: notes.md, shot.png");
  });

  it("are named, and not downloaded, where the service takes none", async () => {
    await using world = await World.start();
    world.slack.workspace.fileSettings.areByIdOnly = true;
    const root = share(world, [shot]);
    await reply(world, root, "fix that", ANA);
    expect(await notesIn(world, root)).toContain("⚠️ The agent can't read shot.png, so I didn't send it.");
    expect(world.slack.downloads).toEqual([]);
  });

  it.each([
    ["isn't shown to the app", "access_denied"],
    ["was deleted", "file_deleted"],
  ])("one that %s holds nothing up, and the thread says so", async (_, error) => {
    await using world = await World.start(TAKES);
    world.slack.workspace.fileSettings.areByIdOnly = true;
    world.slack.faults.add({ method: INFO, fault: { kind: "error", error } });
    const root = share(world, [shot, notes]);
    await reply(world, root, "fix that", ANA);
    await world.settle();
    expect(namesSent(world)).toHaveLength(1);
    const told = await world.until(() => said(world, root)[0]?.find((line) => line.includes("couldn't")));
    expect(told).toContain("⚠️ I couldn't get a file from Slack, so the agent works without it.");
  });

  it("are named in the shortcut's form as soon as Slack has said what they are", async () => {
    await using world = await World.start(TAKES);
    const { slack } = world;
    slack.workspace.fileSettings.areByIdOnly = true;
    await ask(world);
    const stop = slack.faults.add({ method: INFO, fault: { kind: "error", error: "some_new_error" } });
    const picked = share(world, [shot]);
    const pick = { callbackId: "fix_these_docs", channel: DOCS, messageTs: picked.ts };
    await slack.person(ANA).shortcut(pick);
    await expect
      .poll(() => JSON.stringify(slack.openViews(ANA).at(-1)?.view))
      .toContain("Not read yet: a file");
    stop();
    await slack.person(ANA).shortcut(pick);
    const form = await slack.until(() => {
      const open = slack.openViews(ANA).at(-1);
      return JSON.stringify(open?.view).includes("With files: shot.png") ? open : undefined;
    });
    await slack.person(ANA).submit({ viewId: form.id, values: {} });
    await world.until(() => creates(world).length === 2);
    expect(namesSent(world, 1)).toEqual(["shot.png"]);
    // A message outside of a thread brings no thread along.
    expect(calls(world, REPLIES)).toBe(0);
    expect(creates(world)[1]?.prompt).not.toContain("Quoted messages of the thread");
  });
});

describe.each([
  ["have no address yet", true],
  ["lead to a sign-in page", false],
])("files that %s", (_, areByIdOnly) => {
  it("are waited for, and nobody else's request is", async () => {
    await using world = await World.start(TAKES);
    const { slack, clock } = world;
    await ask(world);
    const before = calls(world, REPLIES);
    const settings = { areByIdOnly, readyAtMs: clock.now() + 5_000 };
    Object.assign(slack.workspace.fileSettings, settings);
    const root = share(world, [shot, notes]);
    await reply(world, root, "fix that", ANA);
    await ask(world, "fix the FAQ");
    expect(namesSent(world, 1)).toEqual([]);
    // The wait outlasts a restart. The thread and the message in it were read once each.
    await world.stopApp();
    await world.startApp();
    await world.until(() => creates(world).length === 3);
    expect(namesSent(world, 2)).toEqual(["shot.png", "notes.md"]);
    expect(await notesIn(world, root)).toContain("Sent along: shot.png, notes.md");
    expect(calls(world, REPLIES) - before).toBe(2);
  });

  it("are left out after twenty seconds, and the thread says so", async () => {
    await using world = await World.start(TAKES);
    const { slack } = world;
    await ask(world);
    Object.assign(slack.workspace.fileSettings, { areByIdOnly, readyAtMs: Infinity });
    const root = share(world, [shot, notes]);
    await reply(world, root, "fix that", ANA);
    await world.pass(19_000);
    expect(creates(world)).toHaveLength(1);
    await world.pass(1_000);
    expect(creates(world)).toHaveLength(2);
    expect(namesSent(world, 1)).toEqual([]);
    expect(await notesIn(world, root)).toContain(
      "⚠️ I couldn't get shot.png, notes.md from Slack, so the agent works without them.",
    );
    // Each of them was asked for seven times.
    const asked = areByIdOnly ? calls(world, INFO) : slack.downloads.length;
    expect(asked).toBeLessThanOrEqual(14);
  });
});

describe("a mention whose event doesn't say whether it has files", () => {
  async function start(options: Parameters<typeof World.start>[0] = {}) {
    const world = await World.start({ jobService: TELLS_CHANGES, ...options });
    world.slack.workspace.fileSettings.areNotInMentions = true;
    return world;
  }

  it.each(["in the channel", "in a thread"])("%s is looked up once", async (where) => {
    await using world = await start();
    const root = share(world, [notes]);
    const isInThread = where === "in a thread";
    const { message } = await world.slack.person(ANA).mention({
      channel: DOCS,
      text: "use this",
      files: [shot],
      ...(isInThread && { threadTs: root.ts }),
    });
    await world.until(() => creates(world).length === 1);
    expect(namesSent(world)).toEqual(isInThread ? ["shot.png", "notes.md"] : ["shot.png"]);
    expect(await notesIn(world, isInThread ? root : message)).toContain("Sent along: shot.png");
    const looks = [HISTORY, REPLIES].map((method) => calls(world, method));
    expect(looks).toEqual(isInThread ? [0, 2] : [1, 0]);
  });

  it("brings what Slack shows of the message by then, without guests' words", async () => {
    await using world = await start();
    const { workspace } = world.slack;
    workspace.addUser({ id: "U0GUS", name: "gus", guest: "multi-channel" });
    workspace.invite(DOCS, "U0GUS");
    world.slack.onCall((phase, { method }) => {
      const message = world.slack.messages(DOCS).find(({ user }) => user === ANA);
      if (phase !== "before" || method !== HISTORY || message === undefined) return;
      message.attachments = [BEN, "U0GUS"].map((author_id, n) => ({
        id: n + 1,
        is_msg_unfurl: true,
        ts: `176760000${n}.000001`,
        author_id,
        text: `the port is wrong, says ${author_id}`,
        fallback: "a message",
      }));
    });
    await world.slack.person(ANA).mention({ channel: DOCS, text: "fix this" });
    await world.until(() => creates(world).length === 1);
    const { prompt } = creates(world)[0] as { prompt: string };
    expect(prompt.split("\n")[0]).toBe("fix this");
    expect(prompt).toContain("> the port is wrong, says U0BEN");
    expect(prompt).not.toContain("says U0GUS");
  });

  it("is one request with its files, although it arrives as a message, too", async () => {
    await using world = await start({ env: { FOLLOW_UPS: "ask" } });
    await world.slack.person(ANA).mention({ channel: DOCS, text: "use this", files: [shot] });
    await world.pass(60_000);
    expect(creates(world)).toHaveLength(1);
    expect(namesSent(world)).toEqual(["shot.png"]);
  });

  it.each([
    ["in this channel", ["channels:history"]],
    ["anywhere", ["channels:history", "groups:history", "im:history"]],
  ])("goes on in silence where the app may not read messages %s", async (_, withoutScopes) => {
    await using world = await start({ withoutScopes });
    const before = world.logger.lines.filter(({ level }) => level === "warn").length;
    for (const text of ["use this", "and use that"]) {
      await world.slack.person(ANA).mention({ channel: DOCS, text, files: [shot] });
    }
    await world.until(() => creates(world).length === 2);
    expect(namesSent(world)).toEqual([]);
    expect(world.logger.lines.filter(({ level }) => level === "warn")).toHaveLength(before);
  });

  it("goes on after two seconds where Slack doesn't answer", async () => {
    await using world = await start();
    world.slack.faults.add({ method: HISTORY, fault: { kind: "hang" } });
    await world.slack.person(ANA).mention({ channel: DOCS, text: "use this", files: [shot] });
    await expect.poll(() => calls(world, HISTORY)).toBe(1);
    world.clock.advance(1_999);
    expect(creates(world)).toEqual([]);
    await expect
      .poll(() => {
        world.clock.advance(1);
        return creates(world).length;
      })
      .toBe(1);
  });
});
