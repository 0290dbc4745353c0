// @module-tag all

import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { linesOfPatch, lineAfter } from "../../../world/code-host/patch-lines.ts";
import { Git } from "../../../world/code-host/git.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const OPERATIONS = ["keep", "keep", "keep", "keep", "remove", "replace", "add"] as const;

it("says where each line of a file is after any change, and shows both sides' numbers", async () => {
  await using dir = await openTempDir();
  const git = new Git(dir.path, process.env["PATH"]);
  const changes = fc.array(fc.constantFrom(...OPERATIONS), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(changes, async (operations) => {
      const before = operations.map((_, index) => `line ${index}`);
      const after = operations.flatMap((operation, index) => {
        if (operation === "remove") return [];
        if (operation === "replace") return [`other ${index}`];
        return operation === "add" ? [`line ${index}`, `more ${index}`] : [`line ${index}`];
      });
      await writeFile(dir.file("a"), before.map((line) => `${line}\n`).join(""));
      await writeFile(dir.file("b"), after.map((line) => `${line}\n`).join(""));
      const { stdout } = await git.try(["diff", "--no-index", dir.file("a"), dir.file("b")]);
      const patch = stdout.slice(Math.max(0, stdout.search(/^@@ /m))).replace(/\n$/, "");
      for (const [index, line] of before.entries()) {
        const place = after.indexOf(line);
        expect(lineAfter(patch, index + 1)).toBe(place < 0 ? null : place + 1);
      }
      for (const { numbers, text } of patch === "" ? [] : linesOfPatch(patch)) {
        if (numbers.LEFT !== null) expect(before[numbers.LEFT - 1]).toBe(text);
        if (numbers.RIGHT !== null) expect(after[numbers.RIGHT - 1]).toBe(text);
      }
    }),
    { numRuns: 40 },
  );
});

it("counts positions over hunks, and gives a line its own hunk up to it", () => {
  const patch = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -9 +9 @@\n-x\n+y\n\\ No newline at end of file";
  expect(linesOfPatch(patch).map(({ position, hunk }) => [position, hunk.split("\n").length])).toEqual([
    [1, 2],
    [2, 3],
    [3, 4],
    [5, 2],
    [6, 3],
  ]);
});
