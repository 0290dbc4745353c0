// @module-tag all

import { mkdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { KeyedLock } from "../../../src/service/runner/workspace/git/keyed-lock.ts";
import { Mirror } from "../../../src/service/runner/workspace/git/mirror.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

it.each([0x2028, 0x2029, 0x85])(
  "a branch with the character %i in its name stands for no other ref",
  async (character) => {
    const separator = String.fromCodePoint(character);
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const { dir, logger } = world;
    const folders = { mirrors: dir.file("mirrors"), gitHome: dir.file("home") };
    for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
    const branch = (ref: string) => `docs-agent/job1/x${separator}${ref}`;
    for (const ref of ["refs/mirror/base", "refs/mirror/jobs/job2"])
      await world.commitTo(branch(ref), { "README.md": "evil\n" }, "evil");
    const project = { id: "docs", repository: world.bare, gitCredentials: null, branchPrefix: "docs-agent/" };
    const { signal } = new AbortController();
    const redact = (text: string) => text;
    const lock = new KeyedLock();
    const clock = createSystemClock();
    const mirror = new Mirror({ project, folders, lock, env: world.env, redact, clock, logger, signal });

    await mirror.fetch({ baseBranch: "main", jobId: "job1" }, async () => {
      expect((await mirror.tips("job1")).base).toBe(await world.inBare("rev-parse", "main"));
      expect((await mirror.jobBranches()).map(({ jobId }) => jobId)).toEqual([
        `job1/x${separator}refs/mirror/base`,
        `job1/x${separator}refs/mirror/jobs/job2`,
      ]);
    });
  },
);
