// @module-tag all

import fc from "fast-check";
import { expect, it } from "vitest";
import { Git } from "../../../world/code-host/git.ts";
import { GitRunner } from "../../../src/service/runner/workspace/git/git.ts";
import {
  areHere,
  arePartingCommits,
  partingCommits,
  readCuts,
} from "../../../src/service/runner/workspace/git/history.ts";
import { openTempDir } from "../../support/temp-dir.ts";

/** Each commit has the commits before it at these distances as parents, or begins a history. */
const histories = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 2 }), {
  minLength: 6,
  maxLength: 24,
});

it("never takes a commit for the place where two histories part that is not, however they were cut off", async () => {
  await using dir = await openTempDir();
  const home = new Git(dir.path, process.env["PATH"]);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(), async (history, pick) => {
      count += 1;
      const whole = dir.file(`whole-${count}`);
      await home.run(["init", "--quiet", "--bare", whole]);
      const commits = history.map((distances, at) => {
        const parents = distances.flatMap((distance) => (at >= distance ? [at - distance] : []));
        const [first, ...others] = parents.map((parent) => `:${parent + 1}`);
        return [
          `reset refs/heads/x\ncommit refs/heads/x\nmark :${at + 1}\ncommitter A <a@example.com> ${1_700_000_000 + at} +0000\n`,
          `data ${String(at).length}\n${at}\n`,
          first === undefined ? "" : `from ${first}\n`,
          ...others.map((parent) => `merge ${parent}\n`),
          "\n",
        ].join("");
      });
      const two = [history.length, 1 + (pick % history.length)];
      const refs = two.map((mark, at) => `reset refs/heads/${at}\nfrom :${mark}\n\n`);
      await home.run([`--git-dir=${whole}`, "fast-import", "--quiet"], {
        input: [...commits, ...refs].join(""),
      });
      const named = await home.run([`--git-dir=${whole}`, "rev-parse", "refs/heads/0", "refs/heads/1"]);
      const [one = "", other = ""] = named.split("\n");
      const { stdout } = await home.try([`--git-dir=${whole}`, "merge-base", "--all", one, other]);
      const truth = stdout.split("\n").filter((line) => line !== "");

      const cut = dir.file(`cut-${count}`);
      await home.run(["init", "--quiet", "--bare", cut]);
      const git = new GitRunner({
        gitDir: cut,
        home: dir.path,
        env: { PATH: process.env["PATH"] },
        redact: (text) => text,
        signal: new AbortController().signal,
      });
      for (const depth of [1, 2, 4, 100]) {
        const options = ["--quiet", "--update-head-ok", `--depth=${depth}`, `file://${whole}`];
        await home.run([`--git-dir=${cut}`, "fetch", ...options, "+refs/heads/*:refs/heads/*"]);
        expect(await areHere(git, [one, other])).toBe(true);
        const found = await partingCommits(git, one, other);
        const isKnown = await arePartingCommits(git, [one, other], found, await readCuts(cut));
        if (isKnown) expect(new Set(found)).toEqual(new Set(truth));
        else expect(depth).toBeLessThan(100);
      }
    }),
    { numRuns: 15 },
  );
});
