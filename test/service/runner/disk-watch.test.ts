// @module-tag all

import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { watchDisk } from "../../../src/service/runner/workspace/sandbox/disk-watch.ts";
import { advanceUntilSettled } from "../../support/advance-until-settled.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("../../support/watch-closed-folders.ts", import.meta.url));
/** Root sees into every folder, unless it is without these. */
const AS_OTHERS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];

it("goes on watching when an agent makes folders that nobody may look into, by the thousand", async () => {
  await using dir = await openTempDir();
  const asOthers = process.getuid?.() === 0 ? AS_OTHERS : [];
  const { stdout } = await run("env", [...asOthers, process.execPath, CHILD, dir.path], { timeout: 60_000 });
  expect(stdout).toContain("The agent wrote more than its limit of 16 MB, and was stopped.");
}, 60_000);

it("ends a turn that fills the disk, and none that didn't", async () => {
  await using dir = await openTempDir();
  await mkdir(dir.file("much"));
  await mkdir(dir.file("little"));
  const clock = new ManualClock();
  // As if there were hardly any room.
  const options = { clock, reserveMegabytes: Infinity };
  using filling = watchDisk(dir.file("much"), 2048, options);
  using other = watchDisk(dir.file("little"), 2048, options);
  const over = new Promise((resolve) => filling.signal.addEventListener("abort", resolve));
  // What was there before isn't the agent's.
  clock.advance(500);
  while (clock.nextWakeAt() === undefined) await setImmediate();
  await writeFile(dir.file("much/file"), Buffer.alloc(20_000_000, 1));
  await writeFile(dir.file("little/file"), Buffer.alloc(10_000_000, 1));
  await advanceUntilSettled(clock, over, 500);
  expect(filling.signal.reason).toMatchObject({
    code: "turn_failed",
    message: "The agent wrote until the service's disk was almost full, and was stopped.",
  });
  expect(other.signal.aborted).toBe(false);
});

it("has the turn tried again when it can't be told for long what is written", async () => {
  await using dir = await openTempDir();
  await rm(dir.path, { recursive: true });
  const clock = new ManualClock();
  using watch = watchDisk(dir.path, 16, { clock });
  const over = new Promise((resolve) => watch.signal.addEventListener("abort", resolve));
  clock.advance(5_000);
  expect(watch.signal.aborted).toBe(false);
  await advanceUntilSettled(clock, over, 5_000);
  expect(watch.signal.reason).toMatchObject({ code: "transient_run" });
}, 60_000);
