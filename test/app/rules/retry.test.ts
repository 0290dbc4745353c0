import { describe, expect, it } from "vitest";
import { isGivenUp, retryDelayMs } from "../../../src/app/rules/retry.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe("the wait before the next attempt", () => {
  const delayMs = (attempt: number, retryAfterMs = 0, random = 0.5) =>
    retryDelayMs({ attempt, retryAfterMs, random });

  it("doubles from a second to five minutes", () => {
    expect([1, 2, 3, 8, 9, 10, 1000].map((attempt) => delayMs(attempt))).toEqual([
      1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000,
    ]);
  });

  it("varies by a tenth either way", () => {
    expect([delayMs(1, 0, 0), delayMs(1, 0, 0.999_999)]).toEqual([900, 1100]);
  });

  it("is as long as was asked for, at least", () => {
    expect([delayMs(1, 30_000), delayMs(10, 30_000)]).toEqual([30_000, 300_000]);
  });
});

describe("what is worth repeating is given up", () => {
  it("after a day", () => {
    expect(isGivenUp({ addedAt: 0, attempt: 300 }, DAY_MS)).toBe(false);
    expect(isGivenUp({ addedAt: 0, attempt: 300 }, DAY_MS + 1)).toBe(true);
  });

  it("not because the app was off for a day: it is tried for about an hour at least", () => {
    expect(isGivenUp({ addedAt: 0, attempt: 19 }, 7 * DAY_MS)).toBe(false);
    const triedMs = Array.from({ length: 19 }, (_, index) =>
      retryDelayMs({ attempt: index + 1, retryAfterMs: 0, random: 0.5 }),
    ).reduce((sum, ms) => sum + ms, 0);
    expect(triedMs).toBeGreaterThan(50 * MINUTE_MS);
  });

  it("not sooner because the clock was set back", () => {
    expect(isGivenUp({ addedAt: DAY_MS, attempt: 300 }, 0)).toBe(false);
  });
});
