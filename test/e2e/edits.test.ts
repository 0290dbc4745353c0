// @module-tag all

import { expect, it } from "vitest";
import { MINUTE_MS, ask, askedFor, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

/** Somebody gives a message of theirs other words, with a mention of the app. */
async function edit(world: World, userId: string, messageTs: string, text: string): Promise<void> {
  const { slack } = world;
  const words = `<@${slack.workspace.bot.userId}> ${text}`;
  const outcomes = await slack.person(userId).edit({ channel: DOCS, messageTs, text: words });
  expect(outcomes.map(({ status }) => status)).toContain(200);
  await world.settle();
}

function prompts({ service }: World): string[] {
  return [...service.creates, ...service.messages].map(askedFor);
}

it("what was asked stays as it was asked, whenever its message is edited", async () => {
  await using world = await World.start({ env: { RETENTION_DAYS: "1" } });
  const { slack, service } = world;
  const { message } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
  await edit(world, ANA, message.ts, "fix the glossary");
  await world.until(() => service.creates.length === 1);
  const more = await reply(world, message, "and the links", BEN);
  await edit(world, BEN, more.ts, "and the images");
  await world.until(() => service.messages.length === 1);
  service.finish("job_1", { status: "completed" });
  await world.pass(49 * 60 * MINUTE_MS);
  // Nothing of it is kept any more.
  await edit(world, ANA, message.ts, "fix the index");
  await world.pass(10 * MINUTE_MS);
  expect(prompts(world)).toEqual(["fix the FAQ", "and the links"]);
  expect(slack.ephemerals()).toEqual([]);
});

it("an edit starts nothing: neither one that adds a mention, nor one of a request that was refused", async () => {
  await using world = await World.start({ env: { REQUESTS_PER_PERSON: "1" } });
  const { slack } = world;
  const root = await ask(world);
  const refused = await slack.person(ANA).mention({ channel: DOCS, text: "and the FAQ" });
  await slack.until(() => slack.ephemerals(ANA).length === 1);
  const aside = slack.workspace.say({ channel: DOCS, user: BEN, text: "Typos!", threadTs: root.ts });
  await world.pass(61 * MINUTE_MS);
  await edit(world, ANA, refused.message.ts, "please: and the FAQ");
  await edit(world, BEN, aside.ts, "fix them");
  await world.pass(10 * MINUTE_MS);
  expect(prompts(world)).toEqual(["fix the install page"]);
  expect(slack.ephemerals()).toHaveLength(1);
});
