import { Load, type LoadResult } from "../load.ts";
import { interleave, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, type Subject, startBareBolt, startDocsAgent } from "../subjects.ts";

const CONNECTIONS = 10;
const WARM_UP_MS = 700;
const MEASURED_MS = 1500;
const ROUNDS = 5;
/** More than bare Bolt takes in a round on a fast machine; a round that uses them up ends early. */
const REQUESTS = 60_000;

/**
 * The cost of keeping a request on disk before the ack. Neither Slack nor the job service answers meanwhile, so no more than a
 * few tasks are under way, and what is measured is acceptance alone; `throughput` has the work beside.
 */
export const accept: Scenario = {
  name: "accept",
  summary: "commands accepted durably, work held back, against bare Bolt that only acks",
  async run({ checkout, dir, progress }) {
    await using standIns = await StandIns.start(dir, { isHeld: true });
    const requests = signedRequests(REQUESTS, REQUESTS);
    // A process of its own for every measurement: none has to work off what an earlier one accepted.
    async function measure(subject: Subject): Promise<LoadResult> {
      await using _ = subject.program;
      await using load = new Load(subject.origin, CONNECTIONS, requests);
      await load.run(WARM_UP_MS);
      return await load.run(MEASURED_MS);
    }
    const { a, b } = await interleave(
      ROUNDS,
      async (round) => {
        progress(`round ${round + 1} of ${ROUNDS}`);
        return measure(await startDocsAgent({ checkout, standIns, dir, store: `accept-${round}.sqlite` }));
      },
      async () => measure(await startBareBolt(dir)),
    );
    const sidesOf = (pick: (result: LoadResult) => number) => ({
      measured: { name: "docs-agent", values: a.map(pick) },
      against: { name: "bare Bolt", values: b.map(pick) },
    });
    return [
      {
        what: "requests accepted",
        unit: "per second",
        ...sidesOf(({ perSecond }) => perSecond),
        reach: "ratio ≥ 0.70",
      },
      { what: "latency p50", unit: "ms", ...sidesOf(({ p50Ms }) => p50Ms) },
      { what: "latency p99", unit: "ms", ...sidesOf(({ p99Ms }) => p99Ms) },
    ];
  },
};
