// @module-tag all

import { expect, it } from "vitest";
import { MINUTE_MS, ask, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { World } from "../support/world.ts";

it.each([
  { kind: "http", status: 503 } as const,
  { kind: "ratelimited", retryAfterS: 20 } as const,
  { kind: "drop-before" } as const,
])(
  "outcomes stand in the thread in the order in which jobs ended, although Slack answers %o",
  async (fault) => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service, slack } = world;
    const root = await ask(world);
    await world.until(() => service.creates.length === 1);
    await reply(world, root, "new: the FAQ is wrong too");
    await world.until(() => service.creates.length === 2);
    await world.pass(MINUTE_MS);
    slack.faults.add({
      method: "chat.postMessage",
      times: 5,
      when: ({ args }) => JSON.stringify(args).includes("The first."),
      fault,
    });
    service.finish(jobOf(world, 0), { status: "completed", turn: reportOfLink("The first.") });
    await world.until(() => slack.calls.some(({ args }) => JSON.stringify(args).includes("The first.")));
    service.finish(jobOf(world, 1), { status: "completed", turn: reportOfLink("The second.") });
    await world.pass(20 * MINUTE_MS);
    const summaries = said(world, root).flatMap((lines) => lines.filter((line) => line.startsWith("The ")));
    expect(summaries).toEqual(["The first.", "The second."]);
  },
);

it("outcomes stand in the thread in the order of their requests, also if the clock is set back between them", async () => {
  await using world = await World.start({ jobService: { level: 1 }, socketMode: true });
  const { service, slack, clock } = world;
  const root = await ask(world);
  await reply(world, root, "new: the FAQ is wrong too");
  await world.until(() => service.creates.length === 2);
  await world.pass(MINUTE_MS);
  slack.faults.add({
    method: "chat.postMessage",
    times: 3,
    when: ({ args }) => JSON.stringify(args).includes("The first."),
    fault: { kind: "http", status: 503 },
  });
  service.finish(jobOf(world, 0), { status: "completed", turn: reportOfLink("The first.") });
  await world.until(() => slack.calls.some(({ args }) => JSON.stringify(args).includes("The first.")));
  clock.setTo(clock.now() - 60 * MINUTE_MS);
  slack.limits.set({ clockAheadMs: 60 * MINUTE_MS });
  service.finish(jobOf(world, 1), { status: "completed", turn: reportOfLink("The second.") });
  await world.pass(20 * MINUTE_MS);
  const summaries = said(world, root).flatMap((lines) => lines.filter((line) => line.startsWith("The ")));
  expect(summaries).toEqual(["The first.", "The second."]);
});
