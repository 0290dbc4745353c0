// @module-tag all

import { expect, it } from "vitest";
import { beforeSubmit, keyOf } from "../../src/app/rules/turn/submitting.ts";
import { newTurn } from "../../src/app/rules/turn/turn.ts";
import { makeRequest } from "../support/builders.ts";
import { MINUTE_MS, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

it("a turn's key names the app, since another one may hear of the same message and use the same service", async () => {
  await using world = await World.start({ jobService: { idempotencyKeys: true } });
  const { slack, service } = world;
  const { team, bot } = slack.workspace;
  const root = slack.workspace.say({ channel: DOCS, user: BEN, text: "the install page is old" });
  await reply(world, root, "fix that", ANA);
  await world.until(() => service.creates.length === 1);
  await reply(world, root, "and the FAQ", ANA);
  await world.until(() => service.messages.length === 1);
  const keys = [...service.creates, ...service.messages].map(({ idempotencyKey }) => idempotencyKey ?? "");
  for (const key of keys) expect(key.startsWith(`${team.id}-${bot.userId}/`)).toBe(true);
  expect(new Set(keys).size).toBe(2);
});

it("a turn keeps the key that it was first sent with, also one by a version that sent its id", () => {
  const policy = { minMs: 5000, maxMs: 60_000, deadlineMs: 60 * MINUTE_MS };
  const turn = newTurn(makeRequest({ receivedAt: 0 }));
  const at = { now: MINUTE_MS, policy, honorsKeys: true, prompt: turn.request.instructions };
  const first = beforeSubmit(turn, { ...at, appId: "T1-U1" });
  expect(keyOf(first)).toBe(`T1-U1/${turn.id}`);
  expect(keyOf(beforeSubmit(first, { ...at, appId: null }))).toBe(`T1-U1/${turn.id}`);
  const earlier = { ...turn, stage: { name: "submitting", waitingSince: null, isRepeat: false } as const };
  const again = beforeSubmit(earlier, { ...at, appId: "T1-U1" });
  expect(again.stage).toMatchObject({ name: "submitting", isRepeat: true });
  expect(keyOf(again)).toBe(turn.id);
});
