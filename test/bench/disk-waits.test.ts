// @module-tag all

import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { readDiskWaits, straceTo } from "../../bench/disk-waits.ts";
import { need } from "../support/need.ts";
import { openTempDir } from "../support/temp-dir.ts";

it("counts how often a program waits for the disk", async () => {
  need("strace");
  await using dir = await openTempDir();
  const program = `
    const fs = require("node:fs");
    const file = fs.openSync(process.argv[1], "w");
    for (const sync of [fs.fsyncSync, fs.fdatasyncSync, fs.fsyncSync]) sync(file);
    fs.fsync(file, () => {});
  `;
  const [strace = "", ...args] = straceTo(dir.file("trace"));
  const fromMs = Date.now();
  const ran = spawnSync(strace, [...args, process.execPath, "-e", program, dir.file("written")]);
  expect(ran.status).toBe(0);
  expect(readDiskWaits(dir.file("trace"), fromMs, Date.now())).toHaveLength(4);
  expect(readDiskWaits(dir.file("trace"), 0, fromMs)).toEqual([]);
});
