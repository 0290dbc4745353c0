import { type Bench, interleave } from "./bench.ts";
import { Load, type LoadResult } from "./load.ts";
import { type SignedRequest, signedRequests } from "./signed-request.ts";
import { type Subject, startBareBolt, startDocsAgent, startSides } from "./subjects.ts";

const CONNECTIONS = 10;
const WARM_UP_MS = 700;
const MEASURED_MS = 1500;
/** More than bare Bolt takes in a round on a fast machine; a round that uses them up ends early. */
const REQUESTS = 30_000;

/** What it costs to keep a request on disk before the ack, and to work on what was kept beside the next ones. */
export const ack: Bench = {
  name: "ack",
  summary: "signed commands answered 200, accepted durably, against bare Bolt that only acks",
  rounds: 5,
  budgetMs: 48_000,
  async run(context) {
    const { dir } = context;
    await using sides = await startSides(dir, REQUESTS);
    const spread = signedRequests(REQUESTS, REQUESTS, sides.signingSecret);
    // The lane of a channel takes one delivery a second, so hardly any work is done beside the acks.
    const inOneLane = signedRequests(REQUESTS, 1, sides.signingSecret);

    // A process of its own for every measurement: none has to work off what an earlier one accepted.
    async function measure(subject: Subject, requests: readonly SignedRequest[]): Promise<LoadResult> {
      await using _ = subject.program;
      await using load = new Load(subject.origin, CONNECTIONS, requests);
      await load.run(WARM_UP_MS);
      return await load.run(MEASURED_MS);
    }
    async function measureDocsAgent(round: number): Promise<{ spread: LoadResult; inOneLane: LoadResult }> {
      const subjectFor = (name: string) => startDocsAgent({ sides, dir, store: `${name}-${round}.sqlite` });
      return {
        spread: await measure(await subjectFor("spread"), spread),
        inOneLane: await measure(await subjectFor("in-one-lane"), inOneLane),
      };
    }
    const { a, b } = await interleave(context, measureDocsAgent, async () =>
      measure(await startBareBolt({ sides, dir }), spread),
    );

    const sidesOf = (load: "spread" | "inOneLane", pick: (result: LoadResult) => number) => ({
      measured: { name: "docs-agent", values: a.map((results) => pick(results[load])) },
      against: { name: "bare Bolt", values: b.map(pick) },
    });
    const perSecond = (result: LoadResult) => result.perSecond;
    return [
      { what: "requests, work beside", unit: "per second", ...sidesOf("spread", perSecond) },
      { what: "latency p50, work beside", unit: "ms", ...sidesOf("spread", ({ p50Ms }) => p50Ms) },
      { what: "latency p99, work beside", unit: "ms", ...sidesOf("spread", ({ p99Ms }) => p99Ms) },
      { what: "requests, work held back", unit: "per second", ...sidesOf("inOneLane", perSecond) },
      { what: "latency p50, work held back", unit: "ms", ...sidesOf("inOneLane", ({ p50Ms }) => p50Ms) },
      { what: "latency p99, work held back", unit: "ms", ...sidesOf("inOneLane", ({ p99Ms }) => p99Ms) },
    ];
  },
};
