import { describe, expect, it } from "vitest";
import type { OpenView } from "../../../world/slack/index.ts";
import { FIX_THESE_DOCS } from "../../../src/app/intake/shortcut.ts";
import { ANA, BEN, DOCS, World } from "../../support/world.ts";

type Json = Record<string, unknown>;

/** **Fix these docs** on a message of Ben's, sent with another payload than a friendly workspace would make of it. */
async function pick(world: World, change: (payload: Json, message: Json) => void): Promise<number> {
  const { slack } = world;
  const { message } = await slack.person(BEN).say({ channel: DOCS, text: "The install command is wrong" });
  // Sent to nowhere first, for a payload whose trigger nobody has used.
  slack.setAppUrl(undefined);
  const act = { callbackId: FIX_THESE_DOCS, channel: DOCS, messageTs: message.ts };
  const { delivery } = await slack.person(ANA).shortcut(act);
  const payload = JSON.parse(new URLSearchParams(delivery.body).get("payload") ?? "") as Json;
  change(payload, payload["message"] as Json);
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const url = `${world.appUrl}/slack/events`;
  slack.setAppUrl(url);
  return (await slack.redeliver({ ...delivery, url, body }, { resign: true })).status;
}

/** The first lines of a form: whose message it shows, and the message. */
function quoteIn(world: World, { view }: OpenView): string[] {
  const shown = { text: "", blocks: view.blocks.slice(0, 2).filter((block) => block.type !== "input") };
  return world.slack.visibleText({ ...world.slack.messages(DOCS)[0]!, ...shown }).split("\n");
}

describe("a message whose payload has null where others have words", () => {
  it.each<[string, Json, string[]]>([
    ["text", { text: null }, ["@Ben wrote:", "The install command is wrong"]],
    ["text and blocks", { text: null, blocks: null }, ["@Ben wrote:", "This message has no text."]],
    ["user", { user: null }, ["an app wrote:", "The install command is wrong"]],
    [
      "user and username",
      { user: null, username: null, bot_profile: { name: "Build" } },
      ["Build wrote:", "The install command is wrong"],
    ],
    [
      "user, username and bot_profile",
      { user: null, username: null, bot_profile: null },
      ["an app wrote:", "The install command is wrong"],
    ],
    [
      "a bot_profile's name",
      { user: null, bot_profile: { name: null } },
      ["an app wrote:", "The install command is wrong"],
    ],
    ["attachments", { attachments: null }, ["@Ben wrote:", "The install command is wrong"]],
    [
      "an attachment's words but those of its blocks",
      {
        text: null,
        blocks: null,
        attachments: [
          {
            fallback: "[no preview available]",
            text: null,
            title: "Build 7",
            fields: [null, { title: "Page", value: "install" }],
            blocks: [
              { type: "section", text: { type: "mrkdwn", text: "failed &amp; stopped" } },
              { type: "divider" },
              null,
            ],
          },
        ],
      },
      ["@Ben wrote:", "Build 7", "failed & stopped", "Page: install"],
    ],
    [
      "an attachment, and another's text",
      {
        text: null,
        blocks: null,
        attachments: [null, { text: null, fallback: "Build 7 failed" }, { fallback: null }],
      },
      ["@Ben wrote:", "Build 7 failed"],
    ],
    ["thread_ts", { thread_ts: null }, ["@Ben wrote:", "The install command is wrong"]],
  ])("opens the form: %s", async (_, fields, expected) => {
    await using world = await World.start();
    expect(await pick(world, (_payload, message) => Object.assign(message, fields))).toBe(200);
    expect(quoteIn(world, await world.form(ANA))).toEqual(expected);
  });

  it("still leads to a job", async () => {
    await using world = await World.start();
    await pick(world, (payload, message) => {
      Object.assign(payload, { team: null });
      Object.assign(message, {
        user: null,
        text: null,
        blocks: null,
        attachments: [{ fallback: "Build 7 failed" }],
      });
    });
    const { id } = await world.form(ANA);
    await world.slack.person(ANA).submit({ viewId: id });
    await world.until(() => world.service.creates.length > 0);
    expect(world.service.creates[0]?.prompt).toContain("> Build 7 failed");
  });
});

describe("a payload that cannot be read", () => {
  it.each<[string, (payload: Json, message: Json) => void]>([
    ["no message", (payload) => Object.assign(payload, { message: null })],
    ["a message without its time", (_, message) => Object.assign(message, { ts: null })],
    ["a text that is not text", (_, message) => Object.assign(message, { text: { not: "text" } })],
    ["attachments that are no list", (_, message) => Object.assign(message, { attachments: "one" })],
    ["no trigger", (payload) => Object.assign(payload, { trigger_id: null })],
    ["no team", (payload) => Object.assign(payload, { team: null, user: { id: ANA } })],
  ])("is answered privately, and nothing is started: %s", async (_, change) => {
    await using world = await World.start();
    expect(await pick(world, change)).toBe(200);
    const answer = await world.slack.until(() =>
      world.slack.ephemerals(ANA).find(({ from }) => from === world.slack.workspace.bot.userId),
    );
    expect(world.slack.visibleText(answer)).toMatch(/^I couldn't open the form\. Try again/);
    expect(world.slack.openViews(ANA)).toEqual([]);
    expect(world.logger.text("error")).toContain("could not read a shortcut");
  });
});
