import { describe, expect, it } from "vitest";
import { actWithDeath } from "../support/killed-act.ts";
import type { Boundary } from "../support/killed-service.ts";
import { sampled } from "../support/sampled.ts";

const MARK = "\n\n<!-- docs-agent:reply <id>-2 -->";
const SEEN = {
  address: {
    page: "# Quickstart\n\nInstall it now.\n\nStart it.\n\nBye.",
    replies: [
      `Changed: Says install now. (<sha>)${MARK}`,
      `Changed: Says start. (<sha>)${MARK}`,
      `Not changed: The title is good.${MARK}`,
    ],
    reviewers: ["mira"],
    asked: 1,
    rounds: [{ number: 2 }],
  },
  update: {
    page: "# Quickstart\n\nInstall it today.\n\nRun it.\n\nBye.",
    notes: ["The agent resolved conflicts in docs/quickstart.md."],
    replies: [],
    asked: 0,
    rounds: [],
  },
} as const;

for (const act of ["address", "update"] as const) {
  const boundaries: Boundary[] = [];
  const undisturbed = await actWithDeath(act, null, (step) => boundaries.push(step));
  const tried = sampled(boundaries);
  let missed = 0;

  describe(`${act}, on the pull request of a job`, () => {
    it("is pushed once, and everybody is told once, when nothing happens", () => {
      expect(undisturbed.seen).toMatchObject({
        status: "completed",
        outcome: "pull-request",
        pulls: 1,
        commits: 2,
        pushes: 1,
        ...SEEN[act],
      });
      expect(boundaries.map(({ what }) => what)).toContain("POST /agent-runs");
    });

    it.concurrent.each(tried)(
      "killed $phase $at $number ($what): ends the same",
      { timeout: 240_000 },
      async (boundary) => {
        const ending = await actWithDeath(act, boundary);
        if (ending.isMissed) missed += 1;
        expect(ending.seen ?? undisturbed.seen).toEqual(undisturbed.seen);
      },
    );

    it("comes to most of these steps again", () => {
      expect(missed).toBeLessThanOrEqual(Math.ceil(tried.length / 2));
    });
  });
}
