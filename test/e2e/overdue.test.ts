import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { press } from "../support/presses.ts";
import { MINUTE_MS, PR, jobOf } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";
import type { WorldOptions } from "../support/world.ts";

const HOUR_MS = 60 * MINUTE_MS;
const NOTICE = "⌛ @Ana Taking longer than usual: 20 min so far, usually 6 min.\n[Stop]";
const AFTERWARDS = "⌛ Took longer than usual (usually 6 min).";

/** Ana's command, with a job and a thread of its own. */
async function ask(world: World): Promise<SlackMessage> {
  const before = new Set(world.slack.messages(DOCS).map(({ ts }) => ts));
  const jobs = world.service.creates.length;
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
  await world.until(() => world.service.creates.length > jobs);
  world.service.tell(jobOf(world), { status: "running" });
  return world.until(() => world.slack.messages(DOCS).find(({ ts }) => !before.has(ts)));
}

/** A world in whose project so many requests have each taken six minutes. */
async function start(options: WorldOptions = {}, habit = 5): Promise<World> {
  const world = await World.start(options);
  const roots: SlackMessage[] = [];
  for (let n = 0; n < habit; n += 1) roots.push(await ask(world));
  await world.pass(6 * MINUTE_MS);
  for (const { jobId } of world.service.creates)
    world.service.finish(jobId, { status: "completed", prLink: PR });
  await world.until(() => roots.every(({ ts }) => world.replies(DOCS, ts).length === 1));
  return world;
}

function read(world: World, root: SlackMessage): string[] {
  return world.replies(DOCS, root.ts).map((message) => world.slack.visibleText(message));
}

/** The value of the menu's second entry. */
function muting({ blocks = [] }: SlackMessage): string {
  const elements = blocks.flatMap((block) => (block.type === "actions" ? block.elements : []));
  const [menu] = elements.flatMap((element) => (element.type === "overflow" ? element : []));
  return menu?.options[1]?.value ?? "";
}

async function restart(world: World): Promise<void> {
  await world.stopApp();
  await world.startApp();
}

describe("a request that takes longer than usual", () => {
  it.each([
    ["that knows only the contract", {}],
    ["that offers everything", OFFERS_EVERYTHING],
  ])("is noticed once, over restarts, with a job service %s", async (_, jobService) => {
    await using world = await start({ jobService });
    const root = await ask(world);
    await world.pass(18 * MINUTE_MS);
    expect(read(world, root)).toEqual([]);
    await restart(world);
    // Whether it arrived is for Slack to say.
    world.slack.faults.add({ method: "chat.postMessage", times: 1, fault: { kind: "drop-after" } });
    await world.until(() => read(world, root).length === 1);
    await restart(world);
    await world.pass(HOUR_MS);
    expect(read(world, root)).toEqual([NOTICE]);
    expect(world.replies(DOCS, root.ts)[0]?.mentions).toEqual([`@${ANA}`]);
    world.service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => read(world, root)[0] === AFTERWARDS);
    await restart(world);
    await world.pass(HOUR_MS);
    expect(read(world, root)).toEqual([AFTERWARDS, expect.stringContaining("✅ @Ana")]);
    expect(world.logger.text("error")).toBe("");
  });

  it("can be stopped by the notice, which then has no button any more", async () => {
    await using world = await start({ jobService: { level: 1 } });
    const root = await ask(world);
    const notice = await world.until(() => world.replies(DOCS, root.ts)[0], HOUR_MS);
    const onceMore = await press(world, BEN, notice, "stop_turn");
    await world.until(() => read(world, root)[0] === AFTERWARDS);
    await onceMore();
    await world.pass(HOUR_MS);
    expect(read(world, root)[1]).toMatch(/^⏹️ @Ben stopped the agent, @Ana\./);
    expect(read(world, root)).toHaveLength(2);
    expect(world.service.cancels).toEqual(["job_6/1"]);
  });

  it("mentions nobody who doesn't want it", { tags: "all" }, async () => {
    await using world = await start();
    const root = await ask(world);
    await press(world, ANA, root, "follow_menu", muting(root));
    await world.until(() => read(world, root).length === 1, HOUR_MS);
    expect(read(world, root)).toEqual([NOTICE.replace("@Ana ", "")]);
    expect(world.replies(DOCS, root.ts)[0]?.mentions).toEqual([]);
  });
});

describe("nobody is told that a request takes longer than usual", { tags: "all" }, () => {
  it(
    "before five have ended with a result: what fails, or is stopped, says nothing",
    { tags: "nightly" },
    async () => {
      await using world = await start({ jobService: { level: 1 } }, 4);
      const failed = await ask(world);
      world.service.finish(jobOf(world), { status: "failed" });
      await world.until(() => read(world, failed).length === 1);
      const stopped = await ask(world);
      await press(world, ANA, stopped, "stop_turn");
      await world.until(() => read(world, stopped).length === 1);
      const root = await ask(world);
      await world.pass(2 * HOUR_MS);
      expect(read(world, root)).toEqual([]);
    },
  );

  it("while its agent waits for an answer, or for its turn, or can't be reached", async () => {
    await using world = await start({ jobService: { level: 1 } });
    const { service } = world;
    const root = await ask(world);
    service.tell(jobOf(world), { status: "waiting" });
    await world.pass(HOUR_MS);
    service.tell(jobOf(world), { status: "running" });
    await world.pass(10 * MINUTE_MS);
    const id = service.ask(jobOf(world));
    await world.pass(HOUR_MS);
    service.closeQuestion(jobOf(world), id);
    await world.pass(5 * MINUTE_MS);
    await service.down();
    await world.pass(HOUR_MS);
    expect(read(world, root).filter((text) => text.startsWith("⌛"))).toEqual([]);
    await service.up();
    await world.until(() => read(world, root).some((text) => text.startsWith("⌛")));
  });

  it("once it has ended", async () => {
    await using world = await start();
    const root = await ask(world);
    await world.pass(10 * MINUTE_MS);
    await world.stopApp();
    world.clock.advanceTo(world.clock.now() + HOUR_MS);
    world.service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.startApp();
    await world.pass(HOUR_MS);
    expect(read(world, root)).toEqual([expect.stringContaining("✅ @Ana")]);
  });
});
