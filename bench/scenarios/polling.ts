import { nextPollDelayMs } from "../../src/app/rules/retry.ts";
import { pollingCost, tenthOfAge } from "../polling-trace.ts";
import type { Scenario } from "../scenario.ts";

const SEEDS = [1, 2, 3, 4, 5];
/** The defaults of the product. */
const POLICY = { minMs: 5000, maxMs: 60_000, deadlineMs: 24 * 60 * 60_000 };

/**
 * Computes how often jobs are polled, and how late their end is seen. It is a simulation without
 * waiting. It uses this repository's policy, whatever checkout the other scenarios run.
 */
export const polling: Scenario = {
  name: "polling",
  summary: "polls per job and lag of 20,000 simulated jobs (median 4 minutes), against a tenth of the age",
  run() {
    const now = SEEDS.map((seed) =>
      pollingCost(
        (ageMs, random) => nextPollDelayMs({ ageMs, random, faults: 0, retryAfterMs: 0, policy: POLICY }),
        seed,
      ),
    );
    const then = SEEDS.map((seed) => pollingCost(tenthOfAge, seed));
    type Cost = (typeof now)[number];
    const sidesOf = (pick: (cost: Cost) => number) => ({
      measured: { name: "policy", values: now.map(pick) },
      against: { name: "a tenth of the age", values: then.map(pick) },
    });
    return Promise.resolve([
      { what: "polls", unit: "per job", ...sidesOf(({ pollsPerJob }) => pollsPerJob), reach: "≤ 29.8" },
      { what: "mean lag", unit: "s", ...sidesOf(({ meanLagMs }) => meanLagMs / 1000), reach: "≤ 12" },
      { what: "lag p95", unit: "s", ...sidesOf(({ p95LagMs }) => p95LagMs / 1000) },
    ]);
  },
};
