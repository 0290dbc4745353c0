// @module-tag all

import { describe, expect, it } from "vitest";
import {
  allPass,
  chanceOfDifference,
  differenceOf,
  exactInterval,
  moreThanChance,
  smallestShown,
} from "../../eval/statistics.ts";

const some = (passed: number, runs: number) => Array.from({ length: runs }, (_, at) => at < passed);

/** Values of published tables, and of R's `binom.test` and `fisher.test`. */
describe("statistics", () => {
  it.each([
    [0, 5, 0, 0.5218],
    [5, 5, 0.4782, 1],
    [3, 5, 0.1466, 0.9473],
    [7, 10, 0.3475, 0.9333],
  ])("gives %i of %i passed runs their exact interval", (passed, runs, low, high) => {
    const interval = exactInterval(passed, runs);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it.each([
    [0, 5, 5, 5, 0.007937],
    [1, 10, 11, 14, 0.002759],
    [5, 5, 3, 5, 0.444444],
    [4, 5, 4, 5, 1],
  ])("knows how often chance makes %i of %i and %i of %i", (one, before, other, after, chance) => {
    const pair = { before: some(one, before), after: some(other, after) };
    expect(chanceOfDifference(pair)).toBeCloseTo(chance, 5);
  });

  it("asks more of each of many tests", () => {
    expect(moreThanChance([0.04])).toEqual([true]);
    expect(moreThanChance([0.04, 0.03])).toEqual([false, false]);
    expect(moreThanChance([0.04, 0.001, 0.02])).toEqual([true, true, true]);
    expect(moreThanChance([0.06, 0.001])).toEqual([false, true]);
    expect(moreThanChance([])).toEqual([]);
  });

  it("knows how often several runs all pass", () => {
    expect(allPass(3, 5, 1)).toBeCloseTo(0.6);
    expect(allPass(3, 5, 2)).toBeCloseTo(0.3);
    expect(allPass(3, 5, 5)).toBe(0);
    expect(allPass(5, 5, 5)).toBe(1);
  });

  it("has an interval of a difference that the standard error confirms", () => {
    // Half of twenty tasks change: the standard error of their mean is 0.5 / √20 = 0.112.
    const pairs = Array.from({ length: 20 }, (_, at) => ({ before: [false], after: [at % 2 === 0] }));
    const { mean, low, high } = differenceOf(pairs);
    expect(mean).toBe(0.5);
    expect(low).toBeCloseTo(0.5 - 1.96 * 0.112, 1);
    expect(high).toBeCloseTo(0.5 + 1.96 * 0.112, 1);
  });

  it("says which difference so many runs show", () => {
    // Each task passes half of the time: 2.8 standard errors of √(2 · 0.25 / 10 / 30).
    const tasks = Array.from({ length: 30 }, () => [true, false]);
    expect(smallestShown(tasks, 20)).toBeCloseTo(2.8 * Math.sqrt((2 * 0.5) / 20 / 30), 6);
    expect(
      smallestShown(
        tasks.map((_, at) => [at % 2 === 0]),
        10,
      ),
    ).toBeCloseTo(2.8 * Math.sqrt(0.5 / 10 / 30), 6);
    expect(smallestShown([some(5, 5), some(0, 5)], 5)).toBe(0);
    expect(smallestShown([], 5)).toBe(1);
  });
});
