import { type Bench, interleave } from "./bench.ts";
import { Load, type LoadResult } from "./load.ts";
import { signedRequests } from "./signed-request.ts";
import { type Subject, startBareBolt, startDocsAgent, startSides } from "./subjects.ts";

const CONNECTIONS = 10;
const WARM_UP_MS = 1000;
const MEASURED_MS = 2000;
/** More than bare Bolt takes in a round on a fast machine; a round that uses them up ends early. */
const REQUESTS = 40_000;

/** What it costs to keep a request on disk, and to begin to work on it, before and beside the next ack. */
export const ack: Bench = {
  name: "ack",
  summary: "signed commands answered 200, accepted durably, against bare Bolt that only acks",
  rounds: 5,
  async run({ rounds, dir }) {
    await using sides = await startSides(dir, REQUESTS);
    const requests = signedRequests(REQUESTS, sides.signingSecret);
    // A process of its own for every round: none has to work off what an earlier one accepted.
    async function measure({ program, origin }: Subject): Promise<LoadResult> {
      await using _ = program;
      await using load = new Load(origin, CONNECTIONS, requests);
      await load.run(WARM_UP_MS);
      return await load.run(MEASURED_MS);
    }
    const { a, b } = await interleave(
      rounds,
      async (round) => measure(await startDocsAgent({ sides, dir, store: `ack-${round}.sqlite` })),
      async () => measure(await startBareBolt({ sides, dir })),
    );
    const sidesOf = (pick: (result: LoadResult) => number) => ({
      measured: { name: "docs-agent", values: a.map(pick) },
      against: { name: "bare Bolt", values: b.map(pick) },
    });
    return [
      { what: "requests", unit: "per second", ...sidesOf(({ perSecond }) => perSecond) },
      { what: "latency p50", unit: "ms", ...sidesOf(({ p50Ms }) => p50Ms) },
      { what: "latency p99", unit: "ms", ...sidesOf(({ p99Ms }) => p99Ms) },
    ];
  },
};
