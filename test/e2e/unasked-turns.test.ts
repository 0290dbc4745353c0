import { expect, it } from "vitest";
import { linked, MONDAY, review, stands, stateOf, told } from "../support/followed.ts";
import { LINK, MINUTE_MS, PR } from "../support/threads.ts";
import { World } from "../support/world.ts";

const CLEAN = { blockedBy: null, mergeable: true, baseRef: "main" } as const;
const UPDATED = `✅ The agent brought ${LINK} up to date with main.`;

const start = (level: 1 | 2 = 2) => World.start({ startMs: MONDAY, jobService: { level } });

it("tells once that the service brought a pull request up to date by itself", async () => {
  await using world = await start();
  const jobId = await linked(world);
  const { service } = world;
  await stands(world, jobId, { ...CLEAN, blockedBy: "behind" });
  service.beginUnasked(jobId, "update");
  await world.pass(12 * MINUTE_MS);
  expect(told(world)).toEqual([]);
  service.finish(jobId, { status: "completed", prLink: PR, turn: { summary: "Merged main." } });
  await stands(world, jobId, CLEAN);
  expect(told(world)).toEqual([UPDATED]);
  await world.stopApp();
  await world.startApp();
  await stands(world, jobId, { ...CLEAN, review: "approved" }, CLEAN);
  expect(told(world)).toEqual([UPDATED]);

  // What failed or did nothing shows in how the pull request stands.
  service.beginUnasked(jobId, "update");
  service.finish(jobId, { status: "failed", turn: { reason: "There are conflicts." } });
  await stands(world, jobId, CLEAN);
  service.beginUnasked(jobId, "update");
  service.finish(jobId, { status: "completed", turn: { reason: "It has everything." } });
  await stands(world, jobId, CLEAN);
  expect(told(world)).toEqual([UPDATED]);
  service.beginUnasked(jobId, "update");
  service.finish(jobId, { status: "completed", prLink: PR });
  await stands(world, jobId, CLEAN);
  expect(told(world)).toEqual([UPDATED, UPDATED]);
  expect(stateOf(world)).toBe(`👀 Waiting for review: ${LINK}`);
});

it("tells what became of a review that was answered unasked, and never reads words as markup", async () => {
  await using world = await start();
  const jobId = await linked(world);
  const { service } = world;
  const asked = { ...CLEAN, review: "changes-requested" } as const;
  const reviews = [review("1", "Shorter.", "priya")];
  await stands(world, jobId, { ...asked, reviews });
  const [news] = told(world);
  service.beginUnasked(jobId, "address");
  const summary = "Shorten it <!channel> *now*";
  service.finish(jobId, { status: "completed", prLink: PR, turn: { summary } });
  await stands(world, jobId, { ...asked, reviews, headSha: "b".repeat(40) });
  expect(told(world)).toEqual([news, `✅ The agent answered priya's review of ${LINK}:\n${summary}`]);

  const both = [...reviews, review("2", "", "tom")];
  service.beginUnasked(jobId, "address");
  service.finish(jobId, { status: "completed", turn: { summary: "It is short." } });
  await stands(world, jobId, { ...asked, reviews: both });
  expect(told(world).at(-1)).toBe(
    `💬 The agent looked at priya and tom's reviews of ${LINK} and changed nothing:\nIt is short.`,
  );
  service.beginUnasked(jobId, "address");
  service.finish(jobId, { status: "failed", turn: { reason: "Its time was over." } });
  await stands(world, jobId, { ...asked, reviews: both });
  expect(told(world).at(-1)).toBe(
    `❌ The agent couldn't answer priya and tom's reviews of ${LINK}:\nIts time was over.`,
  );
});

it("tells nothing of it with a service of level 1", async () => {
  await using world = await start(1);
  const jobId = await linked(world);
  world.service.beginUnasked(jobId, "update");
  world.service.finish(jobId, { status: "completed", prLink: PR });
  await stands(world, jobId, CLEAN);
  expect(told(world)).toEqual([]);
});
