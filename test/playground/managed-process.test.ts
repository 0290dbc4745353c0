// @module-tag all

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { z } from "zod";
import { ProcessNotReadyError, createManagedProcess } from "../../world/managed-process.ts";
import { openTempDir } from "../support/temp-dir.ts";

const PARENT = fileURLToPath(new URL("../fixtures/run-managed-process.ts", import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it("ends with the playground, even when that is killed", async () => {
  await using dir = await openTempDir();
  const parent = spawn(process.execPath, [PARENT, dir.file("log")], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(parent.stdout.setEncoding("utf8"), "data")) as [string];
  const pid = z.object({ ready: z.number() }).parse(JSON.parse(said)).ready;
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

it("says what a program that did not come up said last", async () => {
  await using dir = await openTempDir();
  await using program = createManagedProcess({
    name: "The program",
    args: ["-e", "console.error('no such setting'); process.exit(1)"],
    env: {},
    logFile: dir.file("log"),
    isReadyLine: () => false,
  });
  await expect(program.start()).rejects.toThrow(ProcessNotReadyError);
  await expect(program.start()).rejects.toThrow(/The program ended before it was ready.*no such setting/s);
  expect(program.isRunning).toBe(false);
});
