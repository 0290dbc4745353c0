import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MAX_RETRY_AFTER_MS,
  boundRetryAfterMs,
  parseRetryAfter,
} from "../../src/shared/machine/retry-after.ts";

const now = Date.parse("2026-11-21T10:00:00Z");

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    [" 30 ", 30_000],
    ["3600", 3_600_000],
    ["99999999999", 3_600_000],
    ["9".repeat(400), 3_600_000],
    ["Sat, 21 Nov 2026 10:01:30 GMT", 90_000],
    ["Sat, 21 Nov 2026 09:59:00 GMT", 0],
    ["Sun, 22 Nov 2026 10:00:00 GMT", 3_600_000],
  ])("%j asks for a wait between 0 and one hour", (header, waitMs) => {
    expect(parseRetryAfter(header, now)).toBe(waitMs);
  });

  it.each([
    undefined,
    null,
    30,
    ["30"],
    "",
    "soon",
    "-5",
    "1.5",
    "1e3",
    "0x10",
    "Infinity",
    "2026-11-21T10:01:30Z",
    "Sat, 99 Foo 2026 10:01:30 GMT",
  ])("%j asks for none", (header) => {
    expect(parseRetryAfter(header, now)).toBeNull();
  });

  it("is never longer than an hour, whatever the header and the clock", () => {
    const date = fc.date({ noInvalidDate: true }).map((at) => at.toUTCString());
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.nat().map(String), date), fc.integer(), (header, at) => {
        const waitMs = parseRetryAfter(header, at) ?? 0;
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS);
      }),
    );
  });
});

it("a wait that a library has read is bounded alike", () => {
  expect([-1, 0, 5_000, Number.POSITIVE_INFINITY].map(boundRetryAfterMs)).toEqual([
    0,
    0,
    5_000,
    MAX_RETRY_AFTER_MS,
  ]);
});
