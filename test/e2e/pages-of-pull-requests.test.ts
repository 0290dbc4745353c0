import { expect, it } from "vitest";
import { linked, MONDAY, stateOf, stands, told } from "../support/followed.ts";
import { MINUTE_MS, PR } from "../support/threads.ts";
import { BEN, DOCS, World } from "../support/world.ts";

const PREVIEW = "https://pr-12.preview.example.com/install";
const LIVE = "https://docs.acme.com/install";

/** The preview that each of the app's results shows, oldest first. */
const previews = (world: World) =>
  world
    .read(DOCS)
    .filter((text) => text.startsWith("✅"))
    .map((text) => /^Preview: (.+)$/m.exec(text)?.[1] ?? null);
const LINE = `pr-12.preview.example.com/install (${PREVIEW})`;

it("shows in the newest result where the change can be looked at, by editing, until the merge", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: { level: 1, changes: "held" } });
  const { service, slack } = world;
  const jobId = await linked(world, undefined, {});
  const shows = (...lines: (string | null)[]) =>
    world.until(() => JSON.stringify(previews(world)) === JSON.stringify(lines));
  slack.faults.add({ method: "chat.update", times: 2, fault: { kind: "http", status: 503 } });
  service.follow(jobId, { preview: PREVIEW });
  await shows(LINE);
  expect(world.read(DOCS)[1]).toMatch(/^✅ @Ana /);
  const threadTs = slack.messages(DOCS)[0]?.ts ?? "";
  await slack.person(BEN).mention({ channel: DOCS, threadTs, text: "and the FAQ" });
  await world.until(() => service.messages.length === 1);
  service.finish(jobId, { status: "completed", prLink: PR });
  await shows(null, LINE);
  service.follow(jobId, { preview: `${PREVIEW}-2` });
  await shows(null, `pr-12.preview.example.com/install-2 (${PREVIEW}-2)`);
  const posts = world.read(DOCS).length;
  service.follow(jobId, { state: "merged" });
  await shows(null, null);
  // What is told is that it was merged.
  await world.until(() => world.read(DOCS).at(-1)?.startsWith("🎉") === true);
  expect(world.read(DOCS)).toHaveLength(posts + 1);
});

it("shows where the change is live, and tells nobody", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: { level: 1, changes: "held" } });
  const jobId = await linked(world, undefined, {});
  await stands(world, jobId, { state: "merged" });
  expect(stateOf(world)).toMatch(/^🎉 Merged/);
  await stands(world, jobId, { state: "merged", live: LIVE });
  expect(stateOf(world)).toBe(`Live: docs.acme.com/install (${LIVE})`);
  // What is told is that it was merged.
  expect(told(world)).toHaveLength(1);
  expect(world.read(DOCS)).toHaveLength(3);
});

it("shows no page whose address isn't a plain one of https", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: { level: 1, changes: "held" } });
  const jobId = await linked(world);
  const addresses = [
    "http://docs.acme.com/",
    "https://me@docs.acme.com/",
    "javascript:alert(1)",
    "https://é.com/",
  ];
  for (const live of [...addresses, "x"]) {
    world.service.follow(jobId, { state: "merged", live });
    await world.pass(MINUTE_MS);
    expect(stateOf(world)).toMatch(/^🎉 Merged/);
  }
});
