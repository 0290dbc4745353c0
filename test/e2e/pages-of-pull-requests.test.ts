import { expect, it } from "vitest";
import { linked, MONDAY, stateOf, stands, told } from "../support/followed.ts";
import { PR } from "../support/threads.ts";
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
  const jobId = await linked(world, undefined, {});
  world.slack.faults.add({ method: "chat.update", times: 2, fault: { kind: "http", status: 503 } });
  await stands(world, jobId, { preview: PREVIEW });
  expect(previews(world)).toEqual([LINE]);
  expect(world.read(DOCS)[1]).toMatch(/^✅ @Ana /);
  await world.stopApp();
  await world.startApp();
  const root = world.slack.messages(DOCS)[0];
  await world.slack.person(BEN).mention({ channel: DOCS, threadTs: root?.ts ?? "", text: "and the FAQ" });
  await world.until(() => world.service.messages.length === 1);
  world.service.finish(jobId, { status: "completed", prLink: PR });
  await stands(world, jobId, { preview: PREVIEW, headSha: "b".repeat(40) });
  expect(previews(world)).toEqual([null, LINE]);
  await stands(world, jobId, { preview: `${PREVIEW}-2` });
  expect(previews(world)).toEqual([null, `pr-12.preview.example.com/install-2 (${PREVIEW}-2)`]);
  const posts = world.read(DOCS).length;
  await stands(world, jobId, { state: "merged" });
  expect(previews(world)).toEqual([null, null]);
  // What is told is that it was merged.
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

it.each(["http://docs.acme.com/", "https://me@docs.acme.com/", "javascript:alert(1)", "https://é.com/", "x"])(
  "shows no page whose address is %s",
  async (live) => {
    await using world = await World.start({ startMs: MONDAY, jobService: { level: 1, changes: "held" } });
    const jobId = await linked(world);
    await stands(world, jobId, { state: "merged" }, { state: "merged", live });
    expect(stateOf(world)).toMatch(/^🎉 Merged/);
  },
);
