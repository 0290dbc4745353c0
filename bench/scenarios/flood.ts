import { flood as sendFlood } from "../load.ts";
import { interleave, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startBareBolt, startDocsAgent } from "../subjects.ts";
import { quantile } from "../table.ts";

const PER_SECOND = 200;
const SECONDS = 15;
/** After this time Slack tells the person that the app didn't respond. */
const SLACK_WAITS_MS = 3000;
const GIVEN_UP_MS = 30_000;
/** Short enough that jobs end during the flood. The first poll comes after five seconds. */
const JOB_MS: [number, number] = [1000, 4000];
const ROUNDS = 2;

/**
 * Sends more requests than people ever would, each on a new connection as without a proxy. The work
 * that they cause goes on at the same time.
 */
export const flood: Scenario = {
  name: "flood",
  summary: `${PER_SECOND} requests a second for ${SECONDS} s, a new connection each: late answers`,
  async run({ checkout, dir, progress }) {
    const count = PER_SECOND * SECONDS;
    async function measureDocsAgent(round: number) {
      progress(`round ${round + 1} of ${ROUNDS}`);
      await using standIns = await StandIns.start(dir, { jobMs: JOB_MS });
      const { program, origin } = await startDocsAgent({
        checkout,
        standIns,
        dir,
        store: `flood-${round}.sqlite`,
      });
      await using _ = program;
      const latenciesMs = await send(origin);
      const { created, posted } = await standIns.counts();
      return { latenciesMs, created, posted };
    }
    async function measureBareBolt() {
      const { program, origin } = await startBareBolt(dir);
      await using _ = program;
      return { latenciesMs: await send(origin) };
    }
    function send(origin: string): Promise<number[]> {
      return sendFlood(origin, signedRequests(count, count), {
        perSecond: PER_SECOND,
        timeoutMs: GIVEN_UP_MS,
      });
    }
    const { a, b } = await interleave(ROUNDS, measureDocsAgent, measureBareBolt);
    const sidesOf = (pick: (latenciesMs: number[]) => number) => ({
      measured: { name: "docs-agent", values: a.map(({ latenciesMs }) => pick(latenciesMs)) },
      against: { name: "bare Bolt", values: b.map(({ latenciesMs }) => pick(latenciesMs)) },
    });
    const lateShare = (all: number[]) => (all.filter((ms) => ms > SLACK_WAITS_MS).length / all.length) * 100;
    return [
      { what: "later than 3 s", unit: "%", ...sidesOf(lateShare), reach: "0" },
      { what: "latency p50", unit: "ms", ...sidesOf((all) => quantile(all, 0.5)) },
      { what: "latency p99", unit: "ms", ...sidesOf((all) => quantile(all, 0.99)), reach: "≤ 100" },
      {
        what: "jobs created before the last answer",
        unit: "",
        measured: { name: `of ${count}`, values: a.map(({ created }) => created) },
      },
      {
        what: "outcomes posted before the last answer",
        unit: "",
        measured: { name: `of ${count}`, values: a.map(({ posted }) => posted) },
      },
    ];
  },
};
