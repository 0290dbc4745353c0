import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { press, toldPrivately } from "../support/presses.ts";
import { PR, ask, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const MENU = "follow_menu";

/** The value of the menu's entry with this label, as the message shows it now. */
function entry(world: World, ts: string, label: string): string {
  const message = world.slack.messages(DOCS).find((each) => each.ts === ts);
  const elements = (message?.blocks ?? []).flatMap((block) =>
    block.type === "actions" ? block.elements : [],
  );
  const menu = elements.find(({ action_id }) => action_id === MENU);
  const options = menu?.type === "overflow" ? menu.options : [];
  return options.find(({ text }) => text.text === label)?.value ?? "";
}

async function choose(world: World, userId: string, message: SlackMessage, label: string) {
  return press(world, userId, message, MENU, entry(world, message.ts, label));
}

const follow = "Mention me in the result";
const mute = "Don't mention me in this thread";

describe("the menu of a status message", () => {
  it("mentions whoever follows the request in its result, once, also after a restart", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const message = await ask(world);
    await choose(world, BEN, message, follow);
    expect(await toldPrivately(world, BEN, 1)).toBe("I'll mention you in the result.");
    await world.stopApp();
    await world.startApp();
    const onceMore = await choose(world, BEN, message, follow);
    await choose(world, ANA, message, follow);
    expect(await toldPrivately(world, ANA, 1)).toBe("I'll mention you in the result.");
    world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]?.[0]).toBe("✅ @Ana @Ben Your pull request is ready:");
    expect(world.replies(DOCS, message.ts)[0]?.mentions).toEqual([`@${ANA}`, `@${BEN}`]);
    await world.until(() => !world.slack.visibleText(world.slack.messages(DOCS)[0]!).includes("[⋯]"));
    // Somebody's screen still shows the menu.
    await onceMore();
    expect(await toldPrivately(world, BEN, 3)).toMatch(/^The agent has already finished\./);
  });

  it("mentions nobody who doesn't want it, in any result of that thread, until they follow again", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const { service } = world;
    const message = await ask(world);
    const onceMore = await choose(world, ANA, message, mute);
    expect(await toldPrivately(world, ANA, 1)).toBe("I won't mention you in this thread.");
    await world.stopApp();
    await world.startApp();
    service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]?.[0]).toBe("✅ Your pull request is ready:");
    await world.until(() => world.read(DOCS)[0]?.includes("✅"));
    await reply(world, message, "and the FAQ", ANA);
    const status = await world.until(() => world.replies(DOCS, message.ts)[1]);
    service.finish(jobOf(world), { status: "failed", turn: { reason: "No." } });
    await world.until(() => said(world, message).length === 3);
    expect(said(world, message)[2]?.[0]).toBe("❌ The agent couldn't finish.");
    await reply(world, message, "once more", ANA);
    const next = await world.until(() => world.replies(DOCS, message.ts)[3]);
    expect(next.ts).not.toBe(status.ts);
    await choose(world, ANA, next, follow);
    service.finish(jobOf(world), { status: "failed" });
    await world.until(() => said(world, message).length === 5);
    expect(said(world, message)[4]?.[0]).toBe("❌ @Ana The agent couldn't finish.");
    // It works at messages of requests that have long ended.
    await onceMore();
    await toldPrivately(world, ANA, 3);
    await reply(world, message, "and again", ANA);
    await world.until(() => service.messages.length === 3);
    service.finish(jobOf(world), { status: "failed" });
    await world.until(() => said(world, message).length === 7);
    expect(said(world, message)[6]?.[0]).toBe("❌ The agent couldn't finish.");
  });

  it("mentions nobody who doesn't want it as the one who stopped the agent", async () => {
    await using world = await World.start({ jobService: { level: 1 } });
    const message = await ask(world);
    await choose(world, BEN, message, mute);
    await press(world, BEN, message, "stop_turn");
    await world.until(() => said(world, message).length === 1);
    expect(said(world, message)[0]?.[0]).toBe("⏹️ @Ana The agent was stopped.");
  });
});
