import { describe, expect, it } from "vitest";
import { pollingCost, tenthOfAge } from "../../../bench/polling-trace.ts";
import { nextPollDelayMs } from "../../../src/app/rules/retry.ts";

const policy = { minMs: 5000, maxMs: 60_000, deadlineMs: 86_400_000 };
const MINUTE_MS = 60_000;

function delayMs(input: { ageMs?: number; faults?: number; retryAfterMs?: number; random?: number }): number {
  return nextPollDelayMs({ ageMs: 0, faults: 0, retryAfterMs: 0, policy, random: 0.5, ...input });
}

describe("the delay before the next poll", () => {
  it("grows with the square root of the watch's age, between floor and ceiling", () => {
    const minutes = [0, 0.25, 1, 4, 16, 36, 60, 24 * 60];
    const delays = minutes.map((age) => Math.round(delayMs({ ageMs: age * MINUTE_MS }) / 1000));
    expect(delays).toEqual([5, 5, 10, 19, 39, 58, 60, 60]);
  });

  it("varies by a tenth either way, and never falls below the floor", () => {
    expect(delayMs({ ageMs: 64_000, random: 0 })).toBe(9000);
    expect(delayMs({ ageMs: 64_000, random: 0.999_999_999 })).toBe(11_000);
    expect(delayMs({ ageMs: 0, random: 0 })).toBe(5000);
  });

  it("doubles with every fault in a row up to the ceiling, and starts over without faults", () => {
    const delays = [0, 1, 2, 3, 4, 5, 1000].map((faults) => delayMs({ faults }));
    expect(delays).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  it("is as long as the service asked for, even above the ceiling", () => {
    expect(delayMs({ ageMs: MINUTE_MS, retryAfterMs: 600_000 })).toBe(600_000);
  });

  it("is the floor while the clock says that watching has not begun", () => {
    expect(delayMs({ ageMs: -MINUTE_MS })).toBe(5000);
  });
});

it("sees the ends of simulated jobs within 12 s on average, with no more polls than a tenth of the age takes", () => {
  const cost = pollingCost((ageMs, random) => delayMs({ ageMs, random }), 1);
  expect(cost.meanLagMs).toBeLessThanOrEqual(12_000);
  expect(cost.pollsPerJob).toBeLessThanOrEqual(29.8);
  expect(cost.pollsPerJob).toBeLessThanOrEqual(pollingCost(tenthOfAge, 1).pollsPerJob);
});
