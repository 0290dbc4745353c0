import { watchBusyTime } from "../busy-time.ts";
import type { Scenario } from "../scenario.ts";
import { quantile } from "../table.ts";

const CHANNELS = 100;
const REQUESTS = 1000;
const JOB_MS: [number, number] = [10_000, 28_000];
const WATCHED_MS = 100_000;

/**
 * Measures, in a workspace at its busiest and with Slack's limits, whether a known outcome waits
 * behind messages that matter less. Lasts until the last outcome, and at most 100 s. An outcome
 * that isn't posted by then counts with the time it has waited.
 */
export const busyWorkspace: Scenario = {
  name: "busy-workspace",
  summary: `${CHANNELS} channels × ${REQUESTS / CHANNELS} requests in Slack's limits: from known to posted`,
  async run(context) {
    const busy = await watchBusyTime(context, {
      requests: REQUESTS,
      channels: CHANNELS,
      jobMs: JOB_MS,
      watchedMs: WATCHED_MS,
    });
    const { waitsMs, isComplete, report } = busy;
    const waited = (q: number) => ({
      name: isComplete ? "waited" : "waited at least",
      values: [quantile(waitsMs, q) / 1000],
    });
    const count = (name: string, value: number) => ({ name, values: [value] });
    return [
      { what: "outcome known → posted, p50", unit: "s", measured: waited(0.5) },
      { what: "outcome known → posted, p95", unit: "s", measured: waited(0.95), reach: "≤ 2" },
      { what: "outcome known → posted, longest", unit: "s", measured: waited(1) },
      {
        what: `outcomes not posted when the watch ended`,
        unit: "",
        measured: count(`of ${REQUESTS}`, REQUESTS - report.posted.length),
        reach: "0",
      },
      {
        what: "last create after accept",
        unit: "s",
        measured: count("longest", busy.longestCreateMs / 1000),
        reach: "≤ 2",
      },
      {
        what: "updates refused",
        unit: "",
        measured: count(`beside ${report.updates} taken`, report.updatesRefused),
        reach: "0",
      },
      {
        what: "posts refused",
        unit: "",
        measured: count(`beside ${report.posts} taken`, report.postsRefused),
      },
    ];
  },
};
