import { type Bench, interleave } from "./bench.ts";
import { Load, type LoadResult } from "./load.ts";
import { signedRequests } from "./signed-request.ts";
import { startDocsAgent, startSides } from "./subjects.ts";

const BURST = 50;
const WARM_UP_MS = 500;
const MEASURED_MS = 1200;
const REQUESTS = 20_000;

/** What deduplication costs or saves: Slack's redeliveries and double clicks, at their worst. */
export const ackBurst: Bench = {
  name: "ack-burst",
  summary: `bursts of ${BURST} identical commands against bursts of ${BURST} distinct ones`,
  rounds: 5,
  budgetMs: 28_000,
  async run(context) {
    const { dir } = context;
    await using sides = await startSides(dir, REQUESTS);
    const requests = signedRequests(REQUESTS, REQUESTS, sides.signingSecret);
    async function measure(store: string, isIdentical: boolean): Promise<LoadResult> {
      const { program, origin } = await startDocsAgent({ sides, dir, store });
      await using _ = program;
      await using load = new Load(origin, BURST, requests);
      await load.runBursts(WARM_UP_MS, isIdentical);
      return await load.runBursts(MEASURED_MS, isIdentical);
    }
    const { a, b } = await interleave(
      context,
      (round) => measure(`identical-${round}.sqlite`, true),
      (round) => measure(`distinct-${round}.sqlite`, false),
    );
    const sidesOf = (pick: (result: LoadResult) => number) => ({
      measured: { name: `${BURST} identical`, values: a.map(pick) },
      against: { name: `${BURST} distinct`, values: b.map(pick) },
    });
    return [
      { what: "requests", unit: "per second", ...sidesOf(({ perSecond }) => perSecond) },
      { what: "latency p99", unit: "ms", ...sidesOf(({ p99Ms }) => p99Ms) },
    ];
  },
};
