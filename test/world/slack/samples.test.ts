// @module-tag all

import { describe, expect, it } from "vitest";
import type { SlackDelivery } from "../../../world/slack/index.ts";
import { invented, leftOut, listSamples, readSample, shapeOf } from "../../support/samples.ts";
import { LEFT_OUT, type Sample } from "./left-out.ts";
import { modal } from "./modal.ts";
import { appToken, botToken, startHttpApp, startSlack } from "./setup.ts";

const BLOCKS = [
  { type: "section", text: { type: "mrkdwn", text: "Done" } },
  {
    type: "actions",
    elements: [
      {
        type: "button",
        action_id: "again",
        style: "primary",
        value: "1",
        text: { type: "plain_text", text: "Again" },
      },
      {
        type: "button",
        action_id: "look",
        url: "https://example.com/",
        text: { type: "plain_text", text: "Look" },
      },
      {
        type: "static_select",
        action_id: "pick",
        options: [{ text: { type: "plain_text", text: "One" }, value: "one" }],
      },
    ],
  },
];

/** Everything that the stand-in says, by the sample that shows it: each answer and payload, more than once where it varies. */
async function collect(): Promise<Map<string, unknown[]>> {
  await using world = await startSlack();
  const { slack, workspace, ada, docs } = world;
  const said = new Map<string, unknown[]>();
  function keep(sample: string, value: unknown): void {
    said.set(sample, [...(said.get(sample) ?? []), value]);
  }
  async function call(method: string, args: object, token = botToken): Promise<Record<string, string>> {
    const answer = await fetch(`${slack.apiUrl}${method}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(args),
      signal: AbortSignal.timeout(5000),
    });
    const body = (await answer.json()) as Record<string, string>;
    keep(`api/${method}`, body);
    return body;
  }
  function keepDelivery(sample: string, delivery: SlackDelivery | undefined): void {
    if (delivery === undefined) throw new Error(`Nothing was sent for ${sample}`);
    if (delivery.headers["content-type"] === "application/json")
      return keep(sample, JSON.parse(delivery.body));
    const form = Object.fromEntries(new URLSearchParams(delivery.body));
    keep(sample, form["payload"] === undefined ? form : JSON.parse(form["payload"]));
  }

  // Refusals are answers as well: one of each kind.
  await call("auth.test", {});
  await call("auth.test", {}, "xoxb-wrong");
  await call("users.info", { user: ada.id });
  await call("users.info", { user: workspace.bot.userId });
  await call("users.info", { user: "U0NOBODY" });
  await call("apps.connections.open", {}, appToken);
  const channel = docs.id;
  const metadata = { event_type: "turn", event_payload: { turn: "t1" } };
  const root = await call("chat.postMessage", { channel, text: "x", blocks: BLOCKS, metadata });
  const { ts = "" } = root;
  const reply = await call("chat.postMessage", { channel, text: "x", thread_ts: ts, reply_broadcast: true });
  await call("chat.postMessage", { channel, blocks: [{ type: "nonsense" }] });
  await call("chat.postEphemeral", { channel, user: ada.id, text: "x" });
  await call("chat.postEphemeral", { channel, user: "U0NOBODY", text: "x" });
  await call("chat.update", { channel, ts, text: "y", blocks: BLOCKS });
  await call("chat.update", { channel, ts: reply["ts"], text: "y" });
  await call("chat.update", { channel, ts: "1.000001", text: "y" });
  await call("chat.getPermalink", { channel, message_ts: ts });
  await call("conversations.open", { users: ada.id });
  await call("conversations.open", { users: ada.id, return_im: true });
  await call("conversations.info", { channel });
  const typed = workspace.say({ channel, user: ada.id, text: "typed", threadTs: ts });
  for (const args of [{}, { limit: 1 }, { include_all_metadata: true }]) {
    await call("conversations.history", { channel, ...args });
    await call("conversations.replies", { channel, ts, ...args });
  }
  await call("conversations.history", { channel: "C0NOWHERE" });
  await call("chat.delete", { channel, ts: reply["ts"] });

  const triggers: string[] = [];
  await using _app = await startHttpApp(slack, (app) => {
    app.command(/.*/, async ({ ack, body }) => (await ack(), void triggers.push(body.trigger_id)));
    app.shortcut(/.*/, async ({ ack }) => ack());
    app.action(/.*/, async ({ ack }) => ack());
    app.view(modal.callback_id ?? "", async ({ ack }) => ack());
    app.view({ callback_id: modal.callback_id ?? "", type: "view_closed" }, async ({ ack }) => ack());
  });
  const person = slack.person(ada.id);
  const mention = await person.mention({ channel, text: "fix it" });
  keepDelivery("events/AppMentionPayload", mention.delivery);
  keepDelivery(
    "events/AppMentionPayload",
    (await person.mention({ channel, text: "x", threadTs: ts })).delivery,
  );
  const { ts: messageTs } = mention.message;
  const text = `<@${workspace.bot.userId}> fix that`;
  const [edited] = await person.edit({ channel, messageTs, text });
  keepDelivery("events/AppMentionPayload", edited?.delivery);
  const command = async () =>
    keepDelivery(
      "app-backend/slash-commands/SlashCommandPayload",
      (await person.command({ channel })).delivery,
    );
  const shortcut = "app-backend/interactive-components/MessageShortcutPayload";
  for (const messageTs of [ts, typed.ts]) {
    keepDelivery(shortcut, (await person.shortcut({ callbackId: "fix", channel, messageTs })).delivery);
  }
  const action = "app-backend/interactive-components/BlockActionPayload";
  for (const act of [{ actionId: "again" }, { actionId: "look" }, { actionId: "pick", option: "one" }]) {
    keepDelivery(action, (await person.click({ channel, messageTs: ts, ...act })).delivery);
  }
  const inThread = await call("chat.postMessage", { channel, text: "x", thread_ts: ts, blocks: BLOCKS });
  const seen = await call("chat.postEphemeral", { channel, user: ada.id, text: "x", blocks: BLOCKS });
  for (const act of [
    { messageTs: inThread["ts"] ?? "", actionId: "again" },
    { messageTs: seen["message_ts"] ?? "", actionId: "again", ephemeral: true },
  ]) {
    keepDelivery(action, (await person.click({ channel, ...act })).delivery);
  }
  const form = {
    ...modal,
    external_id: "form",
    close: { type: "plain_text", text: "Cancel" },
    blocks: [...modal.blocks, ...BLOCKS.slice(1)],
  };
  async function open() {
    await command();
    const opened = await call("views.open", { trigger_id: triggers.pop(), view: form });
    const view = opened["view"] as unknown as { id: string };
    await call("views.update", { view_id: view.id, view: form });
    return { viewId: view.id };
  }
  const values = { prompt: { text: "typo" }, project: { choice: "api" } };
  const opened = await open();
  keepDelivery(action, (await person.clickInView({ ...opened, actionId: "again" })).delivery);
  const submitted = await person.submit({ ...opened, values });
  keepDelivery("app-backend/views/ViewSubmissionPayload", submitted.delivery);
  const closed = await person.closeView(await open());
  keepDelivery("app-backend/views/ViewClosedPayload", closed?.delivery);
  await call("views.open", { trigger_id: "nonsense", view: form });
  await call("views.update", { view_id: "V0NOTHING", view: form });
  return said;
}

/** What no sample shows, and where it comes from. */
const KNOWN_FROM_ELSEWHERE: Partial<Record<Sample, Record<string, string>>> = {
  "api/conversations.replies": {
    "messages[].subtype": "https://docs.slack.dev/reference/events/message/thread_broadcast",
  },
  "events/AppMentionPayload": { context_team_id: "EnvelopedEvent in @slack/bolt" },
  "app-backend/interactive-components/BlockActionPayload": { "view.blocks": "ViewOutput in @slack/bolt" },
  "app-backend/slash-commands/SlashCommandPayload": {
    // A form has nothing but strings; the sample is what the Java SDK reads from it.
    "is_enterprise_install (string)": "SlashCommand in @slack/bolt",
  },
  "app-backend/views/ViewSubmissionPayload": {
    "view.blocks": "ViewOutput in @slack/bolt",
    response_urls: "https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload",
  },
  "app-backend/views/ViewClosedPayload": { "view.blocks": "ViewOutput in @slack/bolt" },
};

const samples = Object.keys(LEFT_OUT) as Sample[];

describe("what the stand-in says, against what Slack's own SDK recorded", () => {
  const said = collect();

  it("is checked against every sample that is here", async () => {
    expect([...(await said).keys()].toSorted()).toEqual(samples.toSorted());
    expect(listSamples().toSorted()).toEqual(samples.toSorted());
  });

  it.each(samples)("%s has no field that Slack has not, or has as another kind", async (sample) => {
    const known = Object.keys(KNOWN_FROM_ELSEWHERE[sample] ?? {});
    const ours = shapeOf((await said).get(sample) ?? []);
    expect(invented(ours, shapeOf([readSample(sample)])).toSorted()).toEqual(known.toSorted());
  });

  it.each(samples)("%s leaves out what is listed, and nothing else", async (sample) => {
    const ours = shapeOf((await said).get(sample) ?? []);
    expect(leftOut(ours, shapeOf([readSample(sample)]))).toEqual(LEFT_OUT[sample]);
  });
});
