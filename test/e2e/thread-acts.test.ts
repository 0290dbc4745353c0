import { expect, it } from "vitest";
import { DAY_MS, type Followed, linked, MONDAY, review, stands, stateOf, told } from "../support/followed.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { LINK, MINUTE_MS } from "../support/threads.ts";
import { World, type WorldOptions } from "../support/world.ts";

const CONFLICTS = { blockedBy: "conflicts", mergeable: false, baseRef: "main" } as const;
const CLEAN = { blockedBy: null, mergeable: true, baseRef: "main" } as const;

function start(options: WorldOptions = {}): Promise<World> {
  return World.start({ startMs: MONDAY, ...options, jobService: OFFERS_EVERYTHING });
}

it("shows conflicts before all else, and tells them once", async () => {
  await using world = await start();
  const jobId = await linked(world);
  const checks: Followed["checks"] = { state: "failed", failed: ["links"] };
  await stands(
    world,
    jobId,
    CONFLICTS,
    { ...CONFLICTS, review: "approved" },
    { ...CONFLICTS, isDraft: true },
  );
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  const conflicts = `⚠️ @Ana ${LINK} conflicts with main.`;
  expect(told(world)).toEqual([conflicts]);
  await stands(world, jobId, { ...CONFLICTS, checks });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  // The code host works it out anew after each push to the base branch.
  await stands(world, jobId, { blockedBy: "checks", mergeable: null, checks, baseRef: "main" });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with main: ${LINK}`);
  await stands(world, jobId, { ...CLEAN, checks });
  expect(stateOf(world)).toBe(`❌ Checks failed: ${LINK}`);
  // They come back: at most once a day.
  await stands(world, jobId, { ...CONFLICTS, checks });
  expect(told(world).filter((text) => text === conflicts)).toHaveLength(1);
  await world.pass(DAY_MS);
  expect(told(world).filter((text) => text === conflicts)).toHaveLength(2);
  await stands(world, jobId, { state: "merged" });
  expect(stateOf(world)).toBe(`🎉 Merged: ${LINK}`);
  expect(told(world)).toHaveLength(4);
});

it("names no base branch that nobody named", { tags: "all" }, async () => {
  await using world = await start();
  const jobId = await linked(world);
  await stands(world, jobId, { blockedBy: "conflicts" });
  expect(stateOf(world)).toBe(`⚠️ Conflicts with the base branch: ${LINK}`);
  expect(told(world)).toEqual([`⚠️ @Ana ${LINK} conflicts with the base branch.`]);
});

it("tells nobody of conflicts that are resolved before the post", { tags: "all" }, async () => {
  await using world = await start();
  const jobId = await linked(world);
  const fault = { kind: "error", error: "internal_error" } as const;
  const off = world.slack.faults.add({ method: "chat.postMessage", times: 1e9, fault });
  const busy: Followed = { checks: { state: "failed", failed: ["links"] } };
  await stands(world, jobId, { ...CLEAN, ...busy }, { ...CONFLICTS, ...busy }, { ...CLEAN, ...busy });
  off();
  await world.pass(6 * 60 * MINUTE_MS);
  expect(told(world)).toEqual([`❌ @Ana "links" failed on ${LINK}.`]);
});

it("says why a review asks for changes, and what a check says, with its link", async () => {
  await using world = await start();
  const jobId = await linked(world);
  const comment = (line: number | null) => ({ path: "docs/faq.md", line, words: `Comment ${line}\nmore` });
  const reviews = [
    { ...review("1", "The FAQ, too."), comments: [comment(12), comment(null)] },
    { ...review("2", "", "tom"), comments: [1, 2, 3, 4, 5].map(comment) },
  ];
  await stands(world, jobId, { review: "changes-requested", reviews });
  expect(told(world)).toEqual([
    [
      `✏️ @Ana maria and tom ask for changes in ${LINK}:`,
      "maria",
      "The FAQ, too.",
      "docs/faq.md:12: Comment 12 more",
      "docs/faq.md: Comment null more",
      "tom",
      "docs/faq.md:1: Comment 1 more",
      "docs/faq.md:2: Comment 2 more",
      "docs/faq.md:3: Comment 3 more",
      "… and 2 more",
    ].join("\n"),
  ]);
  const url = "https://ci.example/1";
  const lost = { name: "links", words: "docs/api.md links to a lost heading", url };
  await stands(world, jobId, { checks: { state: "failed", failed: ["links"], reasons: [lost] } });
  expect(told(world)[1]).toBe(
    `❌ @Ana "links" failed on ${LINK}:\ndocs/api.md links to a lost heading\nSee the check (${url})`,
  );
  const build = { name: "build", words: "", url: "javascript:alert(1)" };
  await stands(world, jobId, {
    headSha: "b".repeat(40),
    checks: { state: "failed", failed: ["links", "build"], reasons: [lost, build] },
  });
  expect(told(world)[2]).toBe(
    [
      `❌ @Ana "links" and "build" failed on ${LINK}:`,
      "links",
      "docs/api.md links to a lost heading",
      `See the check (${url})`,
      "build",
    ].join("\n"),
  );
});
