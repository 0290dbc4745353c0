import { expect, it } from "vitest";
import { type Boundary, runWithDeath } from "../support/killed-service.ts";
import { sampled } from "../support/sampled.ts";

const boundaries: Boundary[] = [];
const undisturbed = await runWithDeath(null, {}, (step) => boundaries.push(step));
const tried = sampled(boundaries);
let missed = 0;

it("makes one branch and one pull request when nothing happens", () => {
  expect(undisturbed).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
  expect(undisturbed.branches).toEqual(["docs-agent/<id>", "main"]);
  const whats = new Set(boundaries.map(({ what }) => what));
  expect(whats).toContain("POST /agent-runs");
  expect(whats).toContain("POST /acme/docs.git/git-receive-pack");
  expect(whats).toContain("POST /api/v3/repos/acme/docs/pulls");
});

it.concurrent.each(tried)(
  "killed $phase $at $number ($what): one branch, one pull request, the right status",
  { timeout: 120_000 },
  async (boundary) => {
    const ending = await runWithDeath(boundary);
    if (ending.isMissed) missed += 1;
    expect(ending).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
    expect(ending.branches).toEqual(["docs-agent/<id>", "main"]);
    expect(ending.prLink).toMatch(/\/acme\/docs\/pull\/1$/);
  },
);

it("comes to most of these steps again", () => {
  expect(missed).toBeLessThanOrEqual(Math.ceil(tried.length / 2));
});
