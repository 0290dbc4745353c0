import { describe, expect, it } from "vitest";
import type { JobServiceSideOptions } from "../../world/job-service/side.ts";
import { press, privately, toldPrivately } from "../support/presses.ts";
import { LINK, MINUTE_MS, PR, ask, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const OFFERS: JobServiceSideOptions = { level: 1 };
const STOP = "stop_turn";

function root(world: World): string {
  const [message] = world.slack.messages(DOCS);
  return message === undefined ? "" : world.slack.visibleText(message);
}

async function restart(world: World): Promise<void> {
  await world.stopApp();
  await world.startApp();
}

/** Ana's command, at work. */
async function working(world: World) {
  const message = await ask(world);
  world.service.tell(jobOf(world), { step: "Read docs/install.md" });
  await world.until(() => root(world).includes("🔧"));
  return message;
}

describe("Stop", () => {
  it("cancels at a service that offers it: once, however often and by whomever it is pressed, also after a restart", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const message = await working(world);
    expect(root(world)).toMatch(/\n\[Stop\]/);
    const onceMore = await press(world, BEN, message, STOP);
    await restart(world);
    await onceMore();
    expect(await toldPrivately(world, BEN, 1)).toBe("You already did that.");
    await world.until(() => said(world, message).length === 1);
    await onceMore();
    expect(await toldPrivately(world, BEN, 2)).toBe("You already did that.");
    await world.pass(60 * MINUTE_MS);
    expect(said(world, message).map((lines) => lines.slice(0, 2))).toEqual([
      ["⏹️ @Ben stopped the agent, @Ana.", "No pull request was opened."],
    ]);
    expect(root(world).split("\n").slice(-1)).toEqual(["⏹️ Stopped"]);
    expect(world.service.cancels).toEqual(["job_1/1"]);
    expect(world.logger.text("error")).toBe("");
  });

  it("pressed by two at once is the first one's", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const message = await working(world);
    const click = (userId: string) =>
      world.slack.person(userId).click({ channel: DOCS, messageTs: message.ts, actionId: STOP });
    await Promise.all([click(ANA), click(BEN)]);
    await world.until(() => said(world, message).length === 1);
    const [line] = said(world, message)[0] ?? [];
    const [second, name] = line === "⏹️ @Ana stopped the agent." ? [BEN, "Ana"] : [ANA, "Ben"];
    expect(await toldPrivately(world, second, 1)).toBe(`@${name} already did that.`);
    await world.pass(60 * MINUTE_MS);
    expect([said(world, message).length, world.service.cancels]).toEqual([1, ["job_1/1"]]);
  });

  it("before anything was sent ends the request at once, and nothing ever is", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const { slack, service } = world;
    await service.down();
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const message = await world.until(() => slack.messages(DOCS)[0]);
    await world.until(() => root(world).includes("unavailable"));
    await press(world, ANA, message, STOP);
    await restart(world);
    await service.up();
    await world.pass(10 * MINUTE_MS);
    expect(said(world, message).map(([line]) => line)).toEqual([
      "⏹️ @Ana canceled this request before it started.",
    ]);
    expect(root(world).split("\n").at(-1)).toBe("⏹️ Canceled before it started");
    expect(service.calls).toEqual([]);
    expect(world.logger.text("info")).toMatch(/^turn ended \{"turn":"command:.*"stopped":true/m);
    await press(world, BEN, (await slack.until(() => world.replies(DOCS, message.ts)[0]))!, "try_again");
    await world.until(() => service.creates.length === 1);
  });

  it.each([true, false])(
    "while the create is under way waits for the job (it is made: %s)",
    async (isMade) => {
      await using world = await World.start({ jobService: { ...OFFERS, idempotencyKeys: true } });
      const { slack, service } = world;
      const open = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      service.onCall(async (phase, { op }) => {
        if (phase !== "before" || op !== "create") return;
        arrived.resolve();
        await open.promise;
      });
      if (!isMade) service.faults.add({ op: "create", times: 1, fault: { kind: "status", status: 503 } });
      await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
      await arrived.promise;
      const message = await slack.until(() => slack.messages(DOCS)[0]);
      // Not settled: the create is still under way.
      await slack.until(() => root(world).includes("[Stop]"));
      expect(
        (await slack.person(BEN).click({ channel: DOCS, messageTs: message.ts, actionId: STOP })).status,
      ).toBe(200);
      open.resolve();
      await world.until(() => said(world, message).length === 1);
      await world.pass(10 * MINUTE_MS);
      expect(said(world, message).map(([line]) => line)).toEqual([
        isMade
          ? "⏹️ @Ben stopped the agent, @Ana."
          : "⏹️ @Ben canceled this request before it started, @Ana.",
      ]);
      expect([service.creates.length, service.cancels]).toEqual(isMade ? [1, ["job_1/1"]] : [0, []]);
    },
  );

  it("at a service that can't cancel stops the updates, says so, and can be taken back", async () => {
    await using world = await World.start();
    const { service } = world;
    const message = await ask(world);
    await press(world, ANA, message, STOP);
    await world.until(() => said(world, message).length === 1);
    await restart(world);
    const polls = service.gets.length;
    await world.pass(60 * MINUTE_MS);
    expect(service.gets).toHaveLength(polls);
    const lines = said(world, message)[0] ?? [];
    expect(lines.slice(0, 2)).toEqual([
      "⏹️ @Ana stopped updates.",
      "The agent can't be stopped and may still open a pull request.",
    ]);
    expect(lines.at(-1)).toBe("[Keep watching]");
    expect(root(world).split("\n").at(-1)).toBe("⏹️ Updates stopped");
    const outcome = world.replies(DOCS, message.ts)[0];
    if (outcome === undefined) throw new Error("no outcome");
    await press(world, BEN, outcome, "keep_watching");
    await world.until(() => root(world).includes("[Stop]"));
    service.finish(jobOf(world), { status: "completed", prLink: PR });
    await world.until(() => said(world, message).length === 2);
    expect(said(world, message)[1]?.[0]).toContain("Your pull request is ready");
  });

  it("too late keeps the outcome, and says privately that the agent has finished", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const { service } = world;
    const message = await working(world);
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    const onceMore = await press(world, ANA, message, STOP);
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]?.[0]).toBe("✅ @Ana Your pull request is ready:");
    expect(service.cancels).toEqual([]);
    await world.until(() => !root(world).includes("[Stop]"));
    // Somebody's screen still shows the button.
    await onceMore();
    expect(await toldPrivately(world, ANA, 1)).toMatch(/^The agent has already finished\./);
  });

  it("waits for a service that is away, and says so; the outcome is still one", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const { service } = world;
    const message = await working(world);
    await service.down();
    await press(world, BEN, message, STOP);
    await world.until(() => world.read(DOCS)[0]?.endsWith("⏹️ Stopping…"));
    await restart(world);
    await world.until(() =>
      world.read(DOCS)[0]?.endsWith("⏹️ Stopping… I can't reach the agent right now. I'll keep trying."),
    );
    await service.up();
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]?.[0]).toBe("⏹️ @Ben stopped the agent, @Ana.");
    expect(service.cancels).toEqual(["job_1/1"]);
  });

  it("stops every request that the message shows", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const { service } = world;
    const message = await working(world);
    await reply(world, message, "and the FAQ");
    await world.until(() => service.messages.length === 1);
    await world.until(() => root(world).includes("and the FAQ"));
    await press(world, BEN, message, STOP);
    await world.until(() => said(world, message).length === 2);
    await world.until(() => root(world).match(/⏹️ Stopped/g)?.length === 2);
    expect(
      said(world, message)
        .map(([line]) => line)
        .toSorted(),
    ).toEqual(["⏹️ @Ben stopped the agent, @Ana.", "⏹️ @Ben stopped the agent."]);
    expect(service.cancels.toSorted()).toEqual(["job_1/1", "job_1/2"]);
  });

  it("is whoever asked's alone under FOLLOW_UPS=requester", async () => {
    await using world = await World.start({ jobService: OFFERS, env: { FOLLOW_UPS: "requester" } });
    const message = await working(world);
    await press(world, BEN, message, STOP);
    expect(await toldPrivately(world, BEN, 1)).toBe(
      "Only @Ana can do that. For your own request, use `@docs-agent new: …`.",
    );
    await world.pass(MINUTE_MS);
    expect(world.service.cancels).toEqual([]);
    await press(world, ANA, message, STOP);
    await world.until(() => said(world, message).length === 1);
    expect(privately(world, ANA)).toEqual([]);
  });

  it("names the pull request that has the work so far", async () => {
    await using world = await World.start({ jobService: OFFERS });
    const { service } = world;
    const message = await working(world);
    const turn = service.jobs.get(jobOf(world))?.turns[0];
    if (turn === undefined) throw new Error("no turn");
    Object.assign(turn, reportOfLink());
    await press(world, ANA, message, STOP);
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]).toContain(`${LINK} has the work so far.`);
  });
});
