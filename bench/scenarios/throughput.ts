import { setTimeout as sleep } from "node:timers/promises";
import type { Checkout } from "../checkout.ts";
import { Load } from "../load.ts";
import { type Figure, interleave, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startDocsAgent } from "../subjects.ts";

const CONNECTIONS = 10;
/**
 * The first outcomes come in this time, so that starts and ends run together during the
 * measurement.
 */
const WARM_UP_MS = 3000;
const MEASURED_MS = 5000;
const ROUNDS = 5;
const REQUESTS = 40_000;
const JOB_MS: [number, number] = [200, 900];
/**
 * The first poll finds the job completed. So a turn is as short as possible and still has all its
 * steps.
 */
const POLLS_EVERY_MS = "1000";

/**
 * Measures how many requests the program can take with all the work that they cause: the create,
 * the poll, and the outcome's post. Slack sets no limits, and each request has its own channel. The
 * product decides how many tasks run at once.
 */
export const throughput: Scenario = {
  name: "throughput",
  summary: "requests accepted a second while their whole chain runs to its end, against 899ea2e",
  async run({ checkout, baseline, dir, progress }) {
    const requests = signedRequests(REQUESTS, REQUESTS);
    async function measure(of: Checkout, store: string) {
      await using standIns = await StandIns.start(dir, { jobMs: JOB_MS });
      const env = { POLL_MIN_MS: POLLS_EVERY_MS };
      const { program, origin } = await startDocsAgent({ checkout: of, standIns, dir, store, env });
      await using _ = program;
      await using load = new Load(origin, CONNECTIONS, requests);
      const ended = (async () => {
        await sleep(WARM_UP_MS);
        const before = await standIns.counts();
        await sleep(MEASURED_MS);
        const after = await standIns.counts();
        return ((after.posted - before.posted) / MEASURED_MS) * 1000;
      })();
      await load.run(WARM_UP_MS);
      const { perSecond } = await load.run(MEASURED_MS);
      return { accepted: perSecond, ended: await ended };
    }
    const { a, b } = await interleave(
      ROUNDS,
      (round) => {
        progress(`round ${round + 1} of ${ROUNDS}`);
        return measure(checkout, `now-${round}.sqlite`);
      },
      async (round) => (baseline === null ? null : await measure(baseline, `then-${round}.sqlite`)),
    );
    const then = b.filter((result) => result !== null);
    const figureOf = (what: string, of: "accepted" | "ended", reach: string): Figure => ({
      what,
      unit: "per second",
      measured: { name: checkout.name, values: a.map((result) => result[of]) },
      ...(baseline !== null && {
        against: { name: baseline.name, values: then.map((result) => result[of]) },
      }),
      reach,
    });
    return [
      figureOf("requests accepted, work beside", "accepted", "ratio ≥ 3.00"),
      figureOf("outcomes posted meanwhile", "ended", ""),
    ];
  },
};
