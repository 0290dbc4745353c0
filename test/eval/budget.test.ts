import fc from "fast-check";
import { expect, it } from "vitest";
import { Budget } from "../../eval/budget.ts";
import { withoutResult } from "../../eval/run-task.ts";
import type { EvalSettings } from "../../eval/settings.ts";

const settings = (max: number, each: number): EvalSettings => ({
  preset: "opencode",
  model: null,
  models: [],
  runs: 1,
  atOnce: 1,
  maxUsd: null,
  maxTokens: max,
  budget: { tokens: each },
  timeLimitMinutes: 1,
  env: {},
});

it("lets no more run than the whole allows, whatever each run uses, and wastes none that fits", async () => {
  const cases = fc.record({
    each: fc.integer({ min: 1, max: 100 }),
    max: fc.integer({ min: 1, max: 1000 }),
    atOnce: fc.integer({ min: 1, max: 5 }),
    shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ each, max, atOnce, shares }) => {
      const budget = new Budget(settings(max, each), []);
      const left = [...shares];
      let [used, refused] = [0, 0];
      const work = async (): Promise<void> => {
        for (let share = left.shift(); share !== undefined; share = left.shift()) {
          if (!(await budget.reserve())) {
            refused += 1;
            expect(max - used).toBeLessThan(each);
            continue;
          }
          await Promise.resolve();
          const outputTokens = Math.floor(share * each);
          used += outputTokens;
          expect(used).toBeLessThanOrEqual(max);
          budget.settle({ ...withoutResult({ name: "task" }, 1, null), outputTokens });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      expect(left).toEqual([]);
      expect(refused).toBeLessThanOrEqual(shares.length);
    }),
  );
});
