// @module-tag nightly
import { expect, it } from "vitest";
import { readiness } from "../support/app-process.ts";
import { PR, expectOnce, outcomesIn, startSides } from "../support/replicas.ts";
import { ANA, DOCS } from "../support/world.ts";

const newer = new URL("../support/newer-version.ts", import.meta.url).href;

/** What the newer version logged of each request: the fields that only it knows. */
function tagged(stdout: string): Map<string, unknown> {
  const lines = stdout
    .split("\n")
    .filter((line) => line.includes('"msg":"tagged"'))
    .map((line) => JSON.parse(line) as { request: string; marks: unknown });
  expect(new Set(lines.map(({ request }) => request)).size).toBe(lines.length);
  return new Map(lines.map(({ request, marks }) => [request, marks]));
}

it("two versions side by side: what the newer one added outlives the older one's writes, and its tasks wait for it", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  const askAt = async (url: string, text: string) => {
    slack.setAppUrl(`${url}/slack/events`);
    expect((await slack.person(ANA).command({ channel: DOCS, text })).status).toBe(200);
  };
  const roots = () => slack.messages(DOCS).filter((message) => message.thread_ts === undefined);

  // The newer version alone, so that the records have its fields.
  const next = open({ HOLD_TAGS: "yes" }, { preload: newer });
  const nextUrl = (await next.ready()) ?? "";
  for (let n = 0; n < 4; n += 1) await askAt(nextUrl, `fix new ${n}`);
  await slack.until(() => service.creates.length === 4 && roots().length === 4, 30_000);

  // Both share the work.
  const old = open();
  const oldUrl = (await old.ready()) ?? "";
  for (let n = 0; n < 4; n += 1) await askAt(oldUrl, `fix old ${n}`);
  await slack.until(() => service.creates.length === 8 && roots().length === 8, 30_000);
  await expect.poll(() => old.stdout, { timeout: 30_000 }).toContain("no such type of task: tag");

  // The older one ends all turns, and writes all records.
  next.signal("SIGTERM");
  expect(await next.exit()).toBe(0);
  service.script.completeAfterPolls(1, { prLink: PR });
  await slack.until(() => outcomesIn(slack).length >= 8, 60_000);
  expectOnce(slack, service, 8);
  expect(await readiness(oldUrl)).toMatchObject({ status: "ok", tasks: { dead: 0 }, records_set_aside: 0 });

  const again = open({}, { preload: newer });
  await again.ready();
  // The deploy is over. As long as both are there, either one may come first whenever a task is tried again.
  old.signal("SIGTERM");
  expect(await old.exit()).toBe(0);
  await expect.poll(() => tagged(again.stdout).size, { timeout: 90_000, interval: 200 }).toBe(4);
  const marks = ["of the turn", "of the job"];
  expect(tagged(again.stdout)).toEqual(new Map([0, 1, 2, 3].map((n) => [`fix new ${n}`, marks])));
  expect(tagged(next.stdout).size).toBe(0);
  expectOnce(slack, service, 8);
  expect(again.hasExited).toBe(false);
}, 240_000);
