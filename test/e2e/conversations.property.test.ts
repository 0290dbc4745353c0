import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ACTS, faultsOf } from "../support/conversation.ts";
import type { Setting } from "../support/conversation.ts";

const number = fc.nat({ max: 20 });
const act = fc.record({ act: fc.constantFrom(...ACTS), who: number, which: number, how: number });

const OFFERS_ALL = { turns: true, questions: true, cancels: true, idempotencyKeys: true };

const SETTINGS: [string, Setting][] = [
  ["only the contract", { jobService: {}, followUps: "mention" }],
  ["everything", { jobService: OFFERS_ALL, followUps: "mention" }],
  ["everything, and only requesters steer", { jobService: OFFERS_ALL, followUps: "requester" }],
];

describe.each(SETTINGS)(
  "whatever people, agents and faults do, at a service that offers %s",
  (_, setting) => {
    it(
      "each turn has one outcome, nothing is lost or sent twice, and nobody steers or sees what they may not",
      { timeout: 120_000 },
      async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 40, size: "max" }), async (acts) => {
            expect(await faultsOf(setting, acts)).toEqual([]);
          }),
          { numRuns: 5 },
        );
      },
    );
  },
);
