import { type Checkout, checkOut } from "../checkout.ts";
import { Load, type LoadResult } from "../load.ts";
import { BenchRedis, hasRedis, type Sync } from "../redis.ts";
import { type Figure, inTurn, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, type Subject, startBareBolt, startDocsAgent } from "../subjects.ts";

const CONNECTIONS = 10;
/**
 * Warm-up and measurement together stay below 3 s. After that, the app also tells people that their
 * requests are saved, which is further work.
 */
const MEASURED_MS = 1450;
const WARM_UP_MS = 1450;
const ROUNDS = 5;
/** More than bare Bolt takes in a round on a fast machine. A round that uses them up ends early. */
const REQUESTS = 60_000;
/** The version that took the most requests per second on SQLite. */
const FASTEST = "68633e3";
/** Each person sends more requests than the default limit allows. */
const LIMITS = { REQUESTS_PER_PERSON: "10000" };

/**
 * Measures the cost of keeping a request on disk before the ack. Neither Slack nor the job service
 * answers meanwhile, so only a few tasks run beside it. `throughput` measures acceptance together
 * with the work that follows.
 */
export const accept: Scenario = {
  name: "accept",
  summary: "commands accepted durably, work held back, against bare Bolt that only acks",
  async run({ checkout, dir, progress }) {
    await using standIns = await StandIns.start(dir, { isHeld: true });
    const requests = signedRequests(REQUESTS, REQUESTS);
    // Each measurement has a new process, so that none has to do work that an earlier one accepted.
    async function measure(subject: Subject): Promise<LoadResult> {
      await using _ = subject.program;
      await using load = new Load(subject.origin, CONNECTIONS, requests);
      return await load.run(MEASURED_MS, WARM_UP_MS);
    }
    const onSqlite = (of: Checkout) => async (round: number) => {
      const store = `accept-${of.name}-${round}.sqlite`;
      return await measure(await startDocsAgent({ checkout: of, standIns, dir, store, env: LIMITS }));
    };
    const onRedis = (sync: Sync) => async () => {
      await using redis = await BenchRedis.start(dir, sync);
      return await measure(await startDocsAgent({ checkout, standIns, dir, store: redis, env: LIMITS }));
    };
    const fastest = checkOut(FASTEST, dir);
    const results = await inTurn(ROUNDS, [
      async (round) => {
        progress(`round ${round + 1} of ${ROUNDS}`);
        return await measure(await startBareBolt(dir));
      },
      onSqlite(checkout),
      ...(hasRedis() ? [onRedis("always"), onRedis("everysec")] : []),
      ...(fastest === null ? [] : [onSqlite(fastest)]),
    ]);
    const before = fastest === null ? null : results.pop();
    const [bareBolt = [], ...stores] = results;
    const goals = ["≥ 0.70", "≥ 0.30", ""];
    const rows = stores.flatMap((results, index) => {
      const sidesOf = (pick: (result: LoadResult) => number) => ({
        measured: { name: NAMES[index] ?? "", values: results.map(pick) },
        against: { name: "bare Bolt", values: bareBolt.map(pick) },
      });
      const reach = goals[index] ?? "";
      const figures: Figure[] = [
        {
          what: "requests accepted",
          unit: "per second",
          ...sidesOf(({ perSecond }) => perSecond),
          reach: reach === "" ? "" : `ratio ${reach}`,
        },
        { what: "latency p50", unit: "ms", ...sidesOf(({ p50Ms }) => p50Ms) },
        { what: "latency p99", unit: "ms", ...sidesOf(({ p99Ms }) => p99Ms) },
      ];
      return figures;
    });
    const rate = ({ perSecond }: LoadResult) => perSecond;
    if (before === undefined || before === null) return rows;
    const ofCommit: Figure = {
      what: "requests accepted",
      unit: "per second",
      measured: { name: "SQLite", values: (stores[0] ?? []).map(rate) },
      against: { name: FASTEST, values: before.map(rate) },
      reach: "ratio ≥ 1.00",
    };
    return [...rows, ofCommit];
  },
};

const NAMES = ["SQLite", "Redis", "Redis, everysec"];
