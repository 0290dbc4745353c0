// @module-tag all

import { describe, expect, it } from "vitest";
import { openModal } from "./modal.ts";
import { startHttpApp, startSlack, startSocketApp } from "./setup.ts";

describe("an app that fails", () => {
  it("leaves the person with Slack's notice when it is not there", async () => {
    await using world = await startSlack({ appUrl: "http://127.0.0.1:1/slack/events" });
    const { slack, docs, ada } = world;
    const outcome = await slack.person(ada.id).command({ channel: docs.id });
    expect(outcome).toMatchObject({ status: 0, failure: "dispatch_failed" });
    expect(slack.ephemerals(ada.id).map(slack.visibleText)).toEqual([
      '/docs-agent failed with the error "dispatch_failed"',
    ]);
  });

  it("refuses a delivery whose bytes were changed", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    await using _app = await startHttpApp(slack, (app) => app.command("/docs-agent", ({ ack }) => ack()));
    const { delivery } = await slack.person(ada.id).command({ channel: docs.id, text: "mine" });
    const forged = { ...delivery, body: delivery.body.replace("mine", "yours") };
    expect(await slack.redeliver(forged)).toMatchObject({ status: 401, failure: "dispatch_failed" });
  });

  it("keeps the modal open and says so when its submission goes nowhere", async () => {
    await using world = await startSlack({ ackTimeoutMs: 200 });
    const { slack, docs, ada } = world;
    await using _app = await startHttpApp(slack, (app) => {
      openModal(app);
      app.view("fix", async () => {});
    });
    const person = slack.person(ada.id);
    await person.command({ channel: docs.id });
    const { id } = await slack.until(() => slack.openViews(ada.id)[0]);
    await person.submit({ viewId: id, values: { prompt: { text: "x" }, project: { choice: "api" } } });
    expect(slack.openViews(ada.id)[0]?.failure).toBe("We had some trouble connecting. Try again?");
  });

  it("connects again when Slack asks it to", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    await using _app = await startSocketApp(
      slack,
      (app) => app.command("/docs-agent", ({ ack }) => ack("here")),
      500,
    );
    const opens = () => slack.calls.filter(({ method }) => method === "apps.connections.open").length;
    const reconnected = Promise.withResolvers<void>();
    slack.onCall((phase) => (phase === "after" && opens() === 2 ? reconnected.resolve() : undefined));
    slack.socketMode.disconnect();
    await reconnected.promise;
    await slack.socketMode.whenConnected();
    expect(opens()).toBe(2);
    await slack.person(ada.id).command({ channel: docs.id });
    expect(slack.ephemerals(ada.id).map(slack.visibleText)).toEqual(["here"]);
  });
});

describe("what Slack's client does not let a person do", () => {
  it("is refused here too", async () => {
    await using world = await startSlack();
    const { slack, docs, grace, workspace, client } = world;
    const eve = workspace.addUser({ name: "eve" });
    const person = slack.person(grace.id);
    const { ts = "" } = await client.chat.postMessage({ channel: docs.id, text: "no buttons" });
    await expect(slack.person(eve.id).command({ channel: docs.id })).rejects.toThrow("eve is not in docs");
    await expect(person.click({ channel: docs.id, messageTs: ts, actionId: "x" })).rejects.toThrow(
      "That button is gone",
    );
    await expect(person.submit({ viewId: "V1" })).rejects.toThrow("is not the one grace has in front");
  });

  it("includes submitting a modal that is not filled in properly", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    await using _app = await startHttpApp(slack, openModal);
    const person = slack.person(ada.id);
    await person.command({ channel: docs.id });
    const { id } = await slack.until(() => slack.openViews(ada.id)[0]);
    const submit = (values: Record<string, Record<string, string>>) => person.submit({ viewId: id, values });
    await expect(submit({})).rejects.toThrow("prompt must be filled in");
    await expect(submit({ prompt: { text: "x".repeat(21) } })).rejects.toThrow("0 to 20 characters, not 21");
    await expect(submit({ prompt: { text: "x" }, project: { choice: "blog" } })).rejects.toThrow(
      "Choose one of: handbook, api",
    );
    await expect(submit({ other: { text: "x" } })).rejects.toThrow("no input other/text");
  });
});
