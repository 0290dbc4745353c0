// @module-tag all

import { expect, it } from "vitest";
import type { MentionOutcome } from "../../../../world/slack/index.ts";
import { atNight } from "../../../support/nightly.ts";
import { ask } from "../../../support/threads.ts";
import { ANA, DOCS, World } from "../../../support/world.ts";

const ABSENT = Symbol("absent");
/** No texts: what a text says is no question of form. */
const OTHERS = [null, ABSENT, 7, [], {}, [null], { x: null }];
/** Deeper parts are those of messages and forms, of which there are hundreds. */
const [DEPTH = 0] = atNight([Infinity], [3]);
const SHORTCUT = { callbackId: "fix_these_docs", channel: DOCS };

/** What Slack sends, as it is sent. */
const SENT: [string, (world: World) => Promise<Pick<MentionOutcome, "delivery">>][] = [
  [
    "a press",
    async (world) => {
      const { ts: messageTs } = await ask(world);
      return world.slack.person(ANA).click({ channel: DOCS, messageTs, actionId: "stop_turn" });
    },
  ],
  [
    "a choice in a menu",
    async (world) => {
      const { ts: messageTs } = await ask(world);
      const click = { channel: DOCS, messageTs, actionId: "follow_menu" };
      return world.slack.person(ANA).click({ ...click, option: optionIn(world, messageTs) });
    },
  ],
  [
    "a shortcut",
    async (world) => {
      const { ts: messageTs } = await ask(world);
      return world.slack.person(ANA).shortcut({ ...SHORTCUT, messageTs });
    },
  ],
  [
    "a form",
    async (world) => {
      const { ts: messageTs } = await ask(world);
      await world.slack.person(ANA).shortcut({ ...SHORTCUT, messageTs });
      return world.slack.person(ANA).submit({ viewId: (await world.form(ANA)).id });
    },
  ],
  ["a command", (world) => world.slack.person(ANA).command({ channel: DOCS, text: "fix it" })],
  ["a mention", (world) => world.slack.person(ANA).mention({ channel: DOCS, text: "fix it" })],
];

/** The value of the first entry in the menu of a message. */
function optionIn(world: World, ts: string): string {
  const blocks = world.slack.messages(DOCS).find((message) => message.ts === ts)?.blocks ?? [];
  const elements = blocks.flatMap((block) => (block.type === "actions" ? block.elements : []));
  const menu = elements.find(({ type }) => type === "overflow");
  return (menu?.type === "overflow" && menu.options[0]?.value) || "";
}

/** An object with another value in the place of one of its own, for each of them, as deep as that. */
function* variants(value: unknown, depth = DEPTH): Generator<unknown> {
  if (typeof value !== "object" || value === null || depth === 0) return;
  for (const [name, inner] of Object.entries(value)) {
    for (const other of OTHERS) yield replaced(value, name, other);
    for (const varied of variants(inner, depth - 1)) yield replaced(value, name, varied);
  }
}

function replaced(value: object, name: string, other: unknown): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown, n) =>
      String(n) !== name ? [item] : other === ABSENT ? [] : [other],
    );
  }
  const { [name]: _, ...rest } = value as Record<string, unknown>;
  return other === ABSENT ? rest : { ...rest, [name]: other };
}

it.each(SENT)(
  "%s, any part of which has another form, is answered at once, and isn't the app's fault",
  async (_, send) => {
    await using world = await World.start();
    const { delivery } = await send(world);
    if (delivery === undefined) throw new Error("nothing was sent");
    const form = new URLSearchParams(delivery.body);
    const payload = form.get("payload");
    const isForm = delivery.headers["content-type"] === "application/x-www-form-urlencoded";
    const sent: unknown = JSON.parse(
      payload ?? (isForm ? JSON.stringify(Object.fromEntries(form)) : delivery.body),
    );
    const written = (varied: unknown) => {
      const text = JSON.stringify(varied);
      if (payload !== null) return new URLSearchParams({ payload: text }).toString();
      return isForm ? new URLSearchParams(varied as Record<string, string>).toString() : text;
    };
    const failed: unknown[] = [];
    for (const varied of variants(sent)) {
      const answer = await world.slack.redeliver({ ...delivery, body: written(varied) }, { resign: true });
      if (answer.status === undefined || answer.status >= 500) failed.push([answer.status, varied]);
    }
    expect(failed).toEqual([]);
    // Slack takes five answers at one response URL.
    const errors = world.logger.text("error").split("\n");
    const own = errors.filter((line) => line.includes("Slack sent") && !line.includes("respond_error"));
    expect(own).toEqual([]);
  },
  120_000,
);
