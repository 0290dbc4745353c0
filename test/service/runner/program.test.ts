import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { findProgram } from "../../../src/service/runner/workspace/sandbox/program.ts";
import { openTempDir } from "../../support/temp-dir.ts";

it("finds what runs a script, and what runs that", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("inner"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(dir.file("outer"), `#!${dir.file("inner")}\n`, { mode: 0o755 });
  const found = await findProgram("outer", dir.path);
  expect(found?.names.get("outer")).toBe(dir.file("outer"));
  expect(found?.names.get("inner")).toBe(dir.file("inner"));
});

it("takes no script for a program that is to be run by itself", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("agent"), "#!/usr/bin/env agent\n", { mode: 0o755 });
  expect(await findProgram("agent", dir.path)).toBeNull();
});
