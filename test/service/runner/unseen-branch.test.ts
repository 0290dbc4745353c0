// @module-tag all

import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const JSON_TYPE = { "content-type": "application/json" };
/** As GitHub answers while its servers don't know a branch yet. */
const answers = {
  "422, head invalid": { errors: [{ resource: "PullRequest", field: "head", code: "invalid" }] },
  "422, no commits": { errors: [{ code: "custom", message: "No commits between main and docs-agent/job1" }] },
  "404": {},
};

/** A world in which the agent notes each of its runs, outside of its tree. */
async function openWorld() {
  const clock = new LaterClock();
  const world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  const runs = world.dir.file("runs");
  const agent = inlineAgent(
    `fs.mkdirSync(${JSON.stringify(runs)} + "/" + Date.now(), { recursive: true });
    fs.appendFileSync("README.md", "more\\n")`,
  );
  const refuse = (answer: keyof typeof answers, matches: (request: string) => boolean) => {
    world.api.fault = (request) =>
      matches(request)
        ? {
            kind: "http",
            status: Number.parseInt(answer, 10),
            headers: JSON_TYPE,
            body: JSON.stringify({ message: "Validation Failed", ...answers[answer] }),
          }
        : undefined;
  };
  const agentRuns = async () => (await readdir(runs)).length;
  return { world, clock, project: world.project(agent), refuse, agentRuns };
}

const isCreate = (request: string) => request.startsWith("POST") && request.endsWith("/pulls");

it.each(Object.keys(answers) as (keyof typeof answers)[])(
  "opens the pull request as soon as the code host sees the branch: %s",
  async (answer) => {
    const { world, project, refuse, agentRuns } = await openWorld();
    await using _ = world;
    let left = 2;
    refuse(answer, (request) => isCreate(request) && left-- > 0);
    expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
    expect(world.pulls()).toHaveLength(1);
    expect(await agentRuns()).toBe(1);
    expect(world.told("step")).toContain("Waiting for the code host to see the branch");
  },
);

it("says that the code host doesn't see the branch if that lasts for a minute, also over a restart", async () => {
  const { world, clock, project, refuse, agentRuns } = await openWorld();
  await using _ = world;
  const stop = new AbortController();
  refuse("422, head invalid", (request) => {
    if (isCreate(request)) stop.abort(new Error("stopped"));
    return isCreate(request);
  });
  await expect(world.run(project, { signal: stop.signal })).rejects.toThrow("stopped");
  world.restart();
  clock.laterMs = 50_000;
  refuse("422, head invalid", (request) => {
    if (isCreate(request)) clock.laterMs += 6000;
    return isCreate(request);
  });
  expect(await world.run(project)).toMatchObject({
    kind: "failed",
    reason: "The code host doesn't see the branch that was pushed.",
  });
  // The first wait after the restart was within the minute, and the second would have been after it.
  expect(clock.laterMs).toBe(62_000);
  expect(await agentRuns()).toBe(1);
});

it("runs no second agent while the git server doesn't show the branch yet", async () => {
  const { world, project, agentRuns } = await openWorld();
  await using _ = world;
  world.api.fault = (request) => (isCreate(request) ? { kind: "http", status: 502 } : undefined);
  await expect(world.run(project)).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
  const commit = await world.inBare("rev-parse", "docs-agent/job1");
  await world.inBare("update-ref", "-d", "refs/heads/docs-agent/job1");
  await expect(world.run(project)).rejects.toThrow("doesn't show the branch yet");
  await world.inBare("update-ref", "refs/heads/docs-agent/job1", commit);
  expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
  expect(await agentRuns()).toBe(1);
});
