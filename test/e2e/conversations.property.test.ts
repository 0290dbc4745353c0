// @module-tag all

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { ACTS, faultsOf } from "../support/conversation.ts";
import { atNight } from "../support/nightly.ts";

const number = fc.nat({ max: 20 });
const act = fc.record({ act: fc.constantFrom(...ACTS), who: number, which: number, how: number });
/** More of them where other runs are wanted than those of every day. */
const RUNS = process.env["FC_SEED"] === undefined ? 2 : 4;
/** Without fast-check's preference for what is short and first: in that, next to nothing happens. */
const acts = fc.noBias(fc.array(act, { minLength: 25, maxLength: 60, size: "max" }));

const OFFERS_ALL = OFFERS_EVERYTHING;

const SERVICES = [
  ["only the contract", {}],
  ["everything", OFFERS_ALL],
] as const;
const POLICIES = ["mention", "ask", "requester"] as const;

describe.each(POLICIES)("whatever people, agents and faults do, with FOLLOW_UPS=%s", (followUps) => {
  it.each(atNight(SERVICES, followUps === "requester" ? SERVICES : SERVICES.slice(1)))(
    "at a service that offers %s, each turn has one outcome, nothing is lost or sent twice, and nobody steers or sees what they may not",
    async (offered, jobService) => {
      // Other runs for each of them.
      const { seed = 0 } = fc.readConfigureGlobal();
      const own = seed + POLICIES.indexOf(followUps) * 2 + (offered === "everything" ? 1 : 0);
      await fc.assert(
        fc.asyncProperty(acts, async (run) => {
          expect(await faultsOf({ jobService, followUps }, run)).toEqual([]);
        }),
        // A smaller example takes minutes to find.
        { numRuns: RUNS, seed: own, endOnFailure: true },
      );
    },
  );
});
