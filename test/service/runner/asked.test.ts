import { expect, it } from "vitest";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

/** Changes the docs, whatever it was told, and says what it was told. */
const DISOBEDIENT = inlineAgent(`
  fs.writeFileSync("README.md", "changed");
  fs.writeFileSync("docs/new.md", "new");
  const told = fs.readFileSync(0, "utf8");
  console.log(told.includes("This request is a question") ? "It is version 22." : "I wasn't told.");
`);

it("answers a question, and keeps nothing of what the agent changed", async () => {
  await using world = await openRunnerWorld();
  const project = world.project(DISOBEDIENT);
  expect(await world.run(project, { kind: "ask", prompt: "Fix the typo" })).toMatchObject({
    kind: "no-changes",
    summary: "It is version 22.",
    reason: null,
    leftOut: [],
  });
  expect(world.pulls()).toEqual([]);
  expect(await world.inBare("branch", "--list", "docs-agent/*")).toBe("");
});

it("leaves the pull request of its job as it was", async () => {
  await using world = await openRunnerWorld();
  const change = inlineAgent(`fs.writeFileSync("docs/new.md", "new"); console.log("Add a page")`);
  expect(await world.run(world.project(change))).toMatchObject({ kind: "pull-request" });
  const before = await world.inBare("rev-parse", "docs-agent/job1");
  const earlierTurns = [{ prompt: "Fix the typo", summary: "Add a page" }];
  const asked = { kind: "ask" as const, prompt: "Take it back", earlierTurns };
  expect(await world.run(world.project(DISOBEDIENT), asked)).toMatchObject({ kind: "no-changes" });
  expect(await world.inBare("rev-parse", "docs-agent/job1")).toBe(before);
  expect(world.pulls()).toHaveLength(1);
});
