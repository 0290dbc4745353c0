import { expect, it } from "vitest";
import { type Boundary, runWithDeath } from "../support/killed-service.ts";
import { sampled } from "../support/sampled.ts";
import { agentFile } from "../support/service-world.ts";

// A turn whose check finds something, which the agent mends in a second round.
const around = {
  agent: { kind: "command", command: [process.execPath, agentFile("mend-on-findings")] },
  isChecked: true,
};
const AS_TOLD = {
  checks: [{ name: "todo", result: "passed", findings: [] }],
  claims: { total: 1, verified: 1 },
};

const boundaries: Boundary[] = [];
const undisturbed = await runWithDeath(null, around, (step) => boundaries.push(step));
// The suite beside this one kills at commits, too.
const own = boundaries.filter(({ at }) => at === "request");

it("checks the base and the result of both rounds when nothing happens", () => {
  expect(undisturbed).toMatchObject({ status: "completed", pulls: 1, commits: 1, turn: AS_TOLD });
  expect(undisturbed.page).toBe("# Quickstart\nDone");
  const whats = own.filter(({ phase }) => phase === "before").map(({ what }) => what);
  // The base runs once more before a finding counts.
  expect(whats.filter((what) => what === "POST /check-runs")).toHaveLength(4);
  expect(whats.filter((what) => what === "POST /agent-runs")).toHaveLength(2);
  expect(whats).toContain("POST /api/v3/repos/acme/docs/issues/1/labels");
});

it.concurrent.each(sampled(own))(
  "killed $phase $number ($what): one branch, one pull request, and the same is told",
  { timeout: 120_000 },
  async (boundary) => {
    const ending = await runWithDeath(boundary, around);
    expect(ending).toMatchObject({ status: "completed", pulls: 1, commits: 1, turn: AS_TOLD });
    expect(ending.page).toBe("# Quickstart\nDone");
    expect(ending.branches).toEqual(["docs-agent/<id>", "main"]);
  },
);
