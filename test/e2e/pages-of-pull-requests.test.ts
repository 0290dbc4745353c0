import { expect, it } from "vitest";
import { linked, MONDAY, stateOf, stands, told } from "../support/followed.ts";
import { DOCS, World } from "../support/world.ts";

const PREVIEW = "https://pr-12.preview.example.com/install";
const LIVE = "https://docs.acme.com/install";

it("shows where the change can be looked at, before and after the merge, and tells nobody", async () => {
  await using world = await World.start({ startMs: MONDAY, jobService: { level: 1, changes: "held" } });
  const jobId = await linked(world, undefined, {});
  await stands(world, jobId, { preview: PREVIEW });
  expect(stateOf(world)).toBe(`Preview: pr-12.preview.example.com/install (${PREVIEW})`);
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
