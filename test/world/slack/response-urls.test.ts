// @module-tag all

import { describe, expect, it } from "vitest";
import type { SlackSide } from "../../../world/slack/index.ts";
import { startHttpApp, startSlack } from "./setup.ts";

/** Lets Ada run a command, and returns the response URL it came with. */
async function urlOfCommand(slack: SlackSide, userId: string, channel: string): Promise<string> {
  let url = "";
  await using _app = await startHttpApp(slack, (app) =>
    app.command("/docs-agent", async ({ ack, body }) => {
      url = body.response_url;
      await ack();
    }),
  );
  await slack.person(userId).command({ channel });
  return url;
}

async function respond(url: string, body: unknown): Promise<[number, string]> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return [response.status, await response.text()];
}

describe("response URLs", () => {
  it("work five times, for the person alone unless the app says otherwise, where the bot is no member", async () => {
    await using world = await startSlack();
    const { slack, ada, workspace } = world;
    const random = workspace.addChannel({ name: "random", members: [ada.id] });
    const url = await urlOfCommand(slack, ada.id, random.id);
    for (const text of ["1", "2", "3", "4"]) expect(await respond(url, { text })).toEqual([200, "ok"]);
    expect(await respond(url, { text: "5", response_type: "in_channel" })).toEqual([200, "ok"]);
    expect(await respond(url, { text: "6" })).toEqual([404, '{"ok":false,"error":"used_url"}']);
    expect(slack.ephemerals(ada.id).map(({ text }) => text)).toEqual(["1", "2", "3", "4"]);
    expect(slack.messages(random.id).map(({ text }) => text)).toEqual(["5"]);
  });

  it("expire after half an hour", async () => {
    await using world = await startSlack();
    const { slack, ada, docs, clock } = world;
    const url = await urlOfCommand(slack, ada.id, docs.id);
    clock.advance(30 * 60 * 1000);
    expect(await respond(url, { text: "in time" })).toEqual([200, "ok"]);
    clock.advance(1);
    expect(await respond(url, { text: "late" })).toEqual([404, '{"ok":false,"error":"expired_url"}']);
    expect(await respond(`${url}x`, { text: "guessed" })).toEqual([404, '{"ok":false,"error":"no_service"}']);
  });

  it("replace what they first showed, and take it away", async () => {
    await using world = await startSlack();
    const { slack, ada, docs } = world;
    const url = await urlOfCommand(slack, ada.id, docs.id);
    await respond(url, { text: "Working" });
    await respond(url, { text: "Done", replace_original: true });
    expect(slack.ephemerals(ada.id).map(({ text }) => text)).toEqual(["Done"]);
    await respond(url, { delete_original: true });
    expect(slack.ephemerals(ada.id)).toEqual([]);
  });

  it("check what they show", async () => {
    await using world = await startSlack();
    const { slack, ada, docs } = world;
    const url = await urlOfCommand(slack, ada.id, docs.id);
    expect(await respond(url, {})).toEqual([400, '{"ok":false,"error":"no_text"}']);
    expect(await respond(url, { text: "x", blocks: [{ type: "section" }] })).toEqual([
      400,
      '{"ok":false,"error":"invalid_blocks"}',
    ]);
  });

  it("fail like other calls when they are told to", async () => {
    await using world = await startSlack();
    const { slack, ada, docs } = world;
    const url = await urlOfCommand(slack, ada.id, docs.id);
    slack.faults.add({ method: "response_url", fault: { kind: "http", status: 503 } });
    expect(await respond(url, { text: "x" })).toEqual([503, ""]);
    expect(await respond(url, { text: "x" })).toEqual([200, "ok"]);
    expect(slack.calls.map(({ method, result }) => [method, result])).toContainEqual([
      "response_url",
      "http",
    ]);
  });
});
