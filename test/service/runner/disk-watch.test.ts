import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { watchDisk } from "../../../src/service/runner/sandbox/disk-watch.ts";
import { ProcessStarter } from "../../../src/service/runner/starter/process-starter.ts";
import { advanceUntilSettled } from "../../support/advance-until-settled.ts";
import { ManualClock } from "../../support/manual-clock.ts";
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

it("has the turn tried again when it can't be told for long what is written", async () => {
  await using dir = await openTempDir();
  await rm(dir.path, { recursive: true });
  const clock = new ManualClock();
  using watch = watchDisk(dir.path, 16, { clock, starter: new ProcessStarter() });
  const over = new Promise((resolve) => watch.signal.addEventListener("abort", resolve));
  clock.advance(5_000);
  expect(watch.signal.aborted).toBe(false);
  await advanceUntilSettled(clock, over, 5_000);
  expect(watch.signal.reason).toMatchObject({ code: "transient_run" });
}, 60_000);
