// @module-tag all

import { describe, expect, it } from "vitest";
import { modal, openModal } from "./modal.ts";
import { refused, startHttpApp, startSlack, startSocketApp } from "./setup.ts";

describe.each([
  ["HTTP", startHttpApp],
  ["Socket Mode", startSocketApp],
])("modals of a real Bolt app over %s", (_transport, startApp) => {
  it("opens a modal, shows what is wrong with it, and takes it when it is right", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    const submitted: unknown[] = [];
    await using _app = await startApp(slack, (app) => {
      openModal(app);
      app.view("fix", async ({ ack, view }) => {
        const { value } = view.state.values["prompt"]?.["text"] ?? {};
        if (value === "nothing") {
          await ack({ response_action: "errors", errors: { prompt: "Say what is wrong" } });
          return;
        }
        submitted.push(view.state.values, view.private_metadata);
        await ack();
      });
    });
    const person = slack.person(ada.id);
    await person.command({ channel: docs.id });
    const open = await slack.until(() => slack.openViews(ada.id)[0]);
    const answers = (text: string) => ({ prompt: { text }, project: { choice: "api" } });

    await person.submit({ viewId: open.id, values: answers("nothing") });
    expect(slack.openViews(ada.id)).toEqual([
      expect.objectContaining({ errors: { prompt: "Say what is wrong" } }),
    ]);

    await person.submit({ viewId: open.id, values: answers("a typo") });
    expect(slack.openViews(ada.id)).toEqual([]);
    expect(submitted).toEqual([
      {
        prompt: { text: { type: "plain_text_input", value: "a typo" } },
        project: {
          choice: {
            type: "static_select",
            selected_option: { text: { type: "plain_text", text: "API" }, value: "api" },
          },
        },
      },
      "thread",
    ]);
  });

  it("updates, pushes and clears modals with its answers, and hears of a closed one", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    const steps: ("update" | "push")[] = ["update", "push"];
    const closed: string[] = [];
    await using _app = await startApp(slack, (app) => {
      openModal(app);
      app.view("fix", async ({ ack }) => {
        const step = steps.shift();
        await ack(
          step === undefined
            ? { response_action: "clear" }
            : { response_action: step, view: { ...modal, private_metadata: step } },
        );
      });
      app.view({ callback_id: "fix", type: "view_closed" }, async ({ ack, view }) => {
        closed.push(view.private_metadata);
        await ack();
      });
    });
    const person = slack.person(ada.id);
    const values = { prompt: { text: "x" }, project: { choice: "api" } };
    const front = () => slack.openViews(ada.id).at(-1)?.id ?? "";
    const stack = () => slack.openViews(ada.id).map((open) => open.view.private_metadata);
    await person.command({ channel: docs.id });
    await slack.until(() => slack.openViews(ada.id)[0]);

    await person.submit({ viewId: front(), values });
    expect(stack()).toEqual(["update"]);
    await person.submit({ viewId: front(), values });
    expect(stack()).toEqual(["update", "push"]);
    await person.closeView({ viewId: front() });
    expect(stack()).toEqual(["update"]);
    expect(closed).toEqual(["push"]);
    await person.submit({ viewId: front(), values });
    expect(stack()).toEqual([]);
  });

  it("cannot open a modal late, or twice with one trigger", async () => {
    await using world = await startSlack();
    const { slack, docs, ada, clock, client } = world;
    const triggers: string[] = [];
    await using _app = await startApp(slack, (app) =>
      app.command("/docs-agent", async ({ ack, body }) => {
        triggers.push(body.trigger_id);
        await ack();
      }),
    );
    const person = slack.person(ada.id);
    await person.command({ channel: docs.id });
    await person.command({ channel: docs.id });
    const [first = "", second = ""] = triggers;
    const open = (trigger_id: string) => client.views.open({ trigger_id, view: modal });
    clock.advance(3000);
    const { view } = await open(first);
    await expect(open(first)).rejects.toThrow("exchanged_trigger_id");
    clock.advance(1);
    await expect(open(second)).rejects.toThrow("expired_trigger_id");
    await expect(open("made-up")).rejects.toThrow("invalid_trigger_id");

    const update = { view_id: view?.id ?? "", view: { ...modal, private_metadata: "new" } };
    await client.views.update({ ...update, hash: view?.hash ?? "" });
    await expect(client.views.update({ ...update, hash: view?.hash ?? "" })).rejects.toThrow("hash_conflict");
    await expect(client.views.update({ ...update, view_id: "V0NONE" })).rejects.toThrow("not_found");
    expect(slack.openViews(ada.id)[0]?.view.private_metadata).toBe("new");
  });
});

describe("checkboxes", () => {
  const option = (n: number) => ({
    text: { type: "mrkdwn", text: `*${n}*` },
    description: { type: "plain_text", text: "x" },
    value: String(n),
  });
  const view = (options: object[], initial_options: object[]) => ({
    ...modal,
    blocks: [
      {
        type: "input",
        block_id: "which",
        optional: true,
        label: { type: "plain_text", text: "Which?" },
        element: { type: "checkboxes", action_id: "ones", options, initial_options },
      },
    ],
  });

  it.each([
    ["eleven", Array.from({ length: 11 }, (_, n) => option(n)), [option(1)], "no more than 10 items allowed"],
    [
      "a ticked one that isn't there",
      [option(1)],
      [option(2)],
      "must exactly match one of the provided options",
    ],
  ])("refuses %s", async (_name, options, ticked, message) => {
    await using world = await startSlack();
    const body = await refused(
      world.client.apiCall("views.open", { trigger_id: "x", view: view(options, ticked) }),
    );
    expect(JSON.stringify(body)).toContain(message);
  });

  it("submits what is ticked, also where nothing is", async () => {
    await using world = await startSlack();
    const { slack, docs, ada } = world;
    const submitted: unknown[] = [];
    await using _app = await startHttpApp(slack, (app) => {
      app.command("/docs-agent", async ({ ack, client, body }) => {
        await ack();
        await client.apiCall("views.open", {
          trigger_id: body.trigger_id,
          view: view([option(1), option(2)], [option(1), option(2)]),
        });
      });
      app.view("fix", async ({ ack, view: sent }) => {
        const chosen = sent.state.values["which"]?.["ones"]?.selected_options ?? [];
        submitted.push(chosen.map(({ value }) => value));
        await ack();
      });
    });
    const person = slack.person(ada.id);
    for (const values of [{}, { which: { ones: "2" } }, { which: { ones: "" } }]) {
      await person.command({ channel: docs.id });
      const open = await slack.until(() => slack.openViews(ada.id)[0]);
      await person.submit({ viewId: open.id, values });
    }
    expect(submitted).toEqual([["1", "2"], ["2"], []]);
  });
});
