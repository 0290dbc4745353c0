// @module-tag all

import { expect, it } from "vitest";
import { makeClient, startHttpApp, startSlack } from "../../world/slack/setup.ts";

it("a press in a form reaches the app with the view and a trigger, and no response_url", async () => {
  await using world = await startSlack();
  const { slack, ada, docs } = world;
  const presses: Record<string, unknown>[] = [];
  await using _app = await startHttpApp(slack, (app) => {
    app.command("/docs-agent", async ({ ack, body, client }) => {
      await ack();
      const button = { type: "button" as const, action_id: "more", value: "1" };
      await client.views.open({
        trigger_id: body.trigger_id,
        view: {
          type: "modal",
          callback_id: "form",
          title: { type: "plain_text", text: "Form" },
          blocks: ["a", "b"].map((block_id) => ({
            type: "actions" as const,
            block_id,
            elements: [{ ...button, text: { type: "plain_text" as const, text: block_id } }],
          })),
        },
      });
    });
    app.action("more", async ({ ack, body, client }) => {
      presses.push({ ...body });
      await ack();
      if (body.type !== "block_actions") return;
      await client.views.update({
        view_id: body.view?.id ?? "",
        view: {
          type: "modal",
          title: { type: "plain_text", text: "Pressed" },
          blocks: [{ type: "divider" }],
        },
      });
    });
  });
  await slack.person(ada.id).command({ channel: docs.id });
  const form = await slack.until(() => slack.openViews(ada.id)[0]);
  await slack.person(ada.id).clickInView({ viewId: form.id, actionId: "more", blockId: "b" });
  await slack.until(() => slack.openViews(ada.id)[0]?.view.title.text === "Pressed");
  expect(presses).toEqual([
    expect.objectContaining({
      type: "block_actions",
      container: { type: "view", view_id: form.id },
      trigger_id: expect.any(String),
      view: expect.objectContaining({ id: form.id, callback_id: "form" }),
      actions: [expect.objectContaining({ action_id: "more", block_id: "b", value: "1" })],
    }),
  ]);
  expect(presses[0]).not.toHaveProperty("response_url");
});

it("a message that mentions the bot anywhere is an event, except in direct messages and where it is not", async () => {
  await using world = await startSlack();
  const { slack, workspace, ada, docs } = world;
  const heard: string[] = [];
  await using _app = await startHttpApp(slack, (app) =>
    app.event("app_mention", async ({ event }) => void heard.push(event.text)),
  );
  const bot = `<@${workspace.bot.userId}>`;
  const random = workspace.addChannel({ name: "random", members: [ada.id] });
  const dm = workspace.openDirectMessage([ada.id]);
  const person = slack.person(ada.id);
  await person.say({ channel: docs.id, text: "nobody here" });
  await person.say({ channel: docs.id, text: `hello ${bot}, fix it` });
  await person.say({ channel: docs.id, text: [`only looks like ${bot}`] });
  await person.say({ channel: dm.id, text: `${bot} hi` });
  await person.say({ channel: random.id, text: `${bot} hi` });
  expect(heard).toEqual([`hello ${bot}, fix it`]);
});

it("a fault rule can be taken back, and leaves the others", async () => {
  await using world = await startSlack();
  const { slack } = world;
  const client = makeClient(slack);
  const takeBack = slack.faults.add({ method: "*", times: 1000, fault: { kind: "http", status: 503 } });
  slack.faults.add({ method: "auth.test", fault: { kind: "error", error: "mine" } });
  await expect(client.auth.test()).rejects.toThrow("503");
  takeBack();
  await expect(client.auth.test()).rejects.toThrow("mine");
  expect(await client.auth.test()).toMatchObject({ ok: true });
});
