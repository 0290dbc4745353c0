import { expect, it } from "vitest";
import { MINUTE_MS, PR, done, jobOf, reply, reportOfLink } from "../support/threads.ts";
import { DOCS, World } from "../support/world.ts";

const UPDATED = "✅ @Ben The agent updated";

/** Ben follows up on a request whose pull request is there. */
async function followedUp(world: World) {
  const root = await done(world);
  await reply(world, root, "and the FAQ");
  await world.until(() => said(world, root.ts).at(-1)?.startsWith("🔧") === true);
  return root.ts;
}

/** The app's replies after the first result. */
function said(world: World, root: string): string[] {
  return world
    .replies(DOCS, root)
    .slice(1)
    .flatMap((message) => (message.bot_id === undefined ? [] : [world.slack.visibleText(message)]));
}

const finish = (world: World) =>
  world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });

it("leaves one post of a follow-up, and never none", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await followedUp(world);
  // Slack takes no posts for a while.
  world.slack.faults.add({ method: "chat.postMessage", times: 3, fault: { kind: "http", status: 503 } });
  const counts = new Set<number>();
  world.slack.onCall(() => void counts.add(said(world, root).length));
  finish(world);
  await world.until(() => said(world, root).some((text) => text.startsWith(UPDATED)));
  await world.pass(5 * MINUTE_MS);
  expect(said(world, root)).toEqual([expect.stringContaining(UPDATED)]);
  expect([...counts].toSorted()).toEqual([1, 2]);
});

it("keeps the status message if Slack doesn't delete it, and asks once", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await followedUp(world);
  world.slack.faults.add({ method: "chat.delete", fault: { kind: "error", error: "cant_delete_message" } });
  finish(world);
  await world.pass(5 * MINUTE_MS);
  expect(said(world, root)).toHaveLength(2);
  expect(world.slack.calls.filter(({ method }) => method === "chat.delete")).toHaveLength(1);
});

it("keeps the status message of a follow-up that changed nothing", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await followedUp(world);
  world.service.finish(jobOf(world), { status: "failed", turn: { reason: "No." } });
  await world.pass(5 * MINUTE_MS);
  expect(said(world, root)).toHaveLength(2);
});
