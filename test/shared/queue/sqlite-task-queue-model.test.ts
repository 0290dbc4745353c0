// @module-tag all

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openFileSubject, openMemorySubject } from "../../support/sqlite-task-queue.ts";
import { command, faultsAfter } from "../../support/task-queue-commands.ts";

describe.each([
  ["file", openFileSubject, 25],
  ["in memory", openMemorySubject, 150],
] as const)("SQLite task queue, %s, whatever happens", (_, open, numRuns) => {
  it(
    "does what it acknowledged, all of it or nothing, ends each task once, and lets none wait",
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 60, size: "max" }), async (commands) => {
          await using subject = await open();
          expect(await faultsAfter(subject, commands)).toEqual([]);
        }),
        { numRuns },
      );
    },
  );
});
