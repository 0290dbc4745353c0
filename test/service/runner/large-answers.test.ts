// @module-tag all

import { expect, it } from "vitest";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const EDIT = inlineAgent(`fs.appendFileSync("docs/quickstart.md", "Fine\\n"); console.log("Say more");`);
const FOLLOW_UP = { earlierTurns: [{ prompt: "Add more", summary: "Say more" }] };

it("a code host's answer of millions of values fails the turn that asked, and no other", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(EDIT);
  await world.run(project, { jobId: "large" });
  await world.run(project, { jobId: "other" });
  const headers = { "content-type": "application/json" };
  world.api.fault = (request) =>
    request.includes("docs-agent%2Flarge")
      ? { kind: "http", status: 200, headers, body: `[${"{},".repeat(5e6)}{}]` }
      : undefined;
  const [large, other] = await Promise.allSettled([
    world.run(project, { jobId: "large", ...FOLLOW_UP }),
    world.run(project, { jobId: "other", ...FOLLOW_UP }),
  ]);
  expect(large).toMatchObject({ reason: { message: "The code host's answer is too large." } });
  expect(other).toMatchObject({ value: { kind: "pull-request" } });

  world.api.fault = undefined;
  expect(await world.run(project, { jobId: "large", ...FOLLOW_UP })).toMatchObject({ kind: "pull-request" });
});
