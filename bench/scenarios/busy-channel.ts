import { watchBusyTime } from "../busy-time.ts";
import type { Scenario } from "../scenario.ts";
import { SLACK_LIMITS } from "../../world/light/rate-limits.ts";

const REQUESTS = 30;
const JOB_MS: [number, number] = [10_000, 28_000];
const WATCHED_MS = 120_000;
/** Each request needs a status message and an outcome. */
const FLOOR_S = (REQUESTS * 2) / SLACK_LIMITS.postsPerSecondAndChannel;

/**
 * Sends many requests at once to a channel where Slack takes one message a second. Measures how
 * close the last outcome comes to Slack's limit.
 */
export const busyChannel: Scenario = {
  name: "busy-channel",
  summary: `${REQUESTS} requests at once in one channel: the last outcome, against the floor that Slack sets`,
  async run(context) {
    const busy = await watchBusyTime(context, {
      requests: REQUESTS,
      channels: 1,
      jobMs: JOB_MS,
      watchedMs: WATCHED_MS,
      connections: REQUESTS,
    });
    return [
      {
        what: "last create after accept",
        unit: "s",
        measured: { name: "longest", values: [busy.longestCreateMs / 1000] },
        reach: "≤ 2",
      },
      {
        what: "last outcome after the first accept",
        unit: "s",
        measured: {
          name: busy.isComplete ? "posted after" : "not posted after",
          values: [busy.lastOutcomeMs / 1000],
        },
        against: { name: `${REQUESTS * 2} posts, one a second`, values: [FLOOR_S] },
        reach: "ratio ≤ 1.05",
      },
    ];
  },
};
