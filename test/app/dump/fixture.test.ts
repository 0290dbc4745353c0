import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { recordSchemas } from "../../../src/app/rules/records.ts";
import type { AppRecords } from "../../../src/app/rules/records.ts";
import { taskPools } from "../../../src/app/tasks/index.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { dumpOf, loadInto } from "../../support/state.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { MINUTE_MS, ask, done, jobOf, reply } from "../../support/threads.ts";
import { ANA, DOCS, World } from "../../support/world.ts";

/**
 * What an app of the first schema kept, as a dump. It stays as it is: later versions read it, too.
 * `RECORD_STATE=1 npx vitest run test/app/dump/fixture.test.ts` writes it anew.
 */
const FIXTURE = fileURLToPath(new URL("../../fixtures/state-1.jsonl", import.meta.url));
const RECORDED_MS = Date.UTC(2026, 0, 5, 9);

type Line = { kind?: string; id: string; text: string; type: string };

/** A job that waits for an answer, with a follow-up; one that ended; an open form. */
async function record(): Promise<string[]> {
  await using world = await World.start({
    startMs: RECORDED_MS,
    jobService: { level: 1 },
  });
  await done(world);
  const root = await ask(world, "explain the retry option");
  world.service.ask(jobOf(world), {});
  await world.until(() => world.replies(DOCS, root.ts)[0]);
  await reply(world, root, "also its default");
  await world.slack.person(ANA).command({ channel: DOCS, text: "" });
  await world.form(ANA);
  await world.pass(MINUTE_MS);
  await world.stopApp();
  return dumpOf({ store: world.storePath, clock: world.clock });
}

if (process.env["RECORD_STATE"] === "1") writeFileSync(FIXTURE, `${(await record()).join("\n")}\n`);

const lines = readFileSync(FIXTURE, "utf8").trimEnd().split("\n");
const clock = new ManualClock(RECORDED_MS + 2 * MINUTE_MS);

it("loads what the first schema kept, and dumps it unchanged", async () => {
  await using dir = await openTempDir();
  const store = dir.file("state.sqlite");
  await loadInto({ store, clock }, lines);
  expect((await dumpOf({ store, clock })).toSorted()).toEqual(lines.toSorted());
});

it("reads each record and knows each task that the first schema kept", () => {
  const entries = lines.map((line) => JSON.parse(line) as Line);
  const records = entries.filter(({ kind }) => kind === "record");
  const kinds = new Set<string>();
  for (const { id, text } of records) {
    const kind = id.slice(0, id.indexOf(":")) as keyof AppRecords;
    const { value } = JSON.parse(text) as { value: unknown };
    expect(recordSchemas[kind].parse(value)).toEqual(value);
    kinds.add(kind);
  }
  expect([...kinds].toSorted()).toEqual(["asked", "draft", "job", "service", "thread", "turn"]);
  const types = entries.filter(({ kind }) => kind === "task").map(({ type }) => type);
  expect(types.length).toBeGreaterThan(0);
  expect(types.filter((type) => !taskPools.types.includes(type))).toEqual([]);
});
