import { expect, it } from "vitest";
import { MINUTE_MS, ask, jobOf, said } from "../support/threads.ts";
import { DOCS, World } from "../support/world.ts";

const WORKING = "is working on the docs";

function calls(world: World): (string | undefined)[] {
  return world.slack.calls
    .filter(({ method }) => method === "assistant.threads.setStatus")
    .map(({ result }) => result);
}

it("Slack itself shows that the agent is at work, renewed before it goes, and no longer when it has ended", async () => {
  await using world = await World.start();
  const root = await ask(world);
  const shown = () => world.slack.workspace.threadStatuses.drawn(DOCS, root.ts);
  await world.until(() => calls(world).length === 1);
  await world.slack.until(() => shown() === WORKING);
  await world.pass(5 * MINUTE_MS);
  await world.slack.until(() => shown() === WORKING);
  // Once in about two minutes, however often the job is polled.
  expect(calls(world).length).toBeLessThanOrEqual(4);
  world.service.finish(jobOf(world), { status: "completed" });
  await world.until(() => said(world, root).length === 1);
  expect(shown()).toBeNull();
  const before = calls(world).length;
  await world.pass(5 * MINUTE_MS);
  expect([shown(), calls(world).length]).toEqual([null, before]);
});

it("isn't shown while the agent waits for an answer", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await ask(world);
  world.service.tell(jobOf(world), { step: "Read the FAQ" });
  await world.until(() => calls(world).length === 1);
  world.service.ask(jobOf(world), { text: "Which page?" });
  await world.until(() => said(world, root).length === 1);
  const before = calls(world).length;
  await world.pass(5 * MINUTE_MS);
  expect(world.slack.workspace.threadStatuses.drawn(DOCS, root.ts)).toBeNull();
  expect(calls(world).length).toBe(before);
});

it.each(["unknown_method", "not_allowed", "missing_scope", "channel_not_found"])(
  "is asked of Slack once where that answers %s, and nothing else changes",
  async (error) => {
    await using world = await World.start();
    const fault = { kind: "error", error } as const;
    world.slack.faults.add({ method: "assistant.threads.setStatus", times: Infinity, fault });
    const root = await ask(world);
    await world.pass(10 * MINUTE_MS);
    await ask(world, "fix the FAQ");
    await world.pass(10 * MINUTE_MS);
    expect(calls(world)).toEqual([error]);
    const logged = world.logger.lines.filter(({ message }) => message.startsWith("Slack shows no agent"));
    expect(logged).toHaveLength(1);
    world.service.finish(jobOf(world, 0), { status: "completed" });
    await world.until(() => said(world, root).length === 1);
  },
);
