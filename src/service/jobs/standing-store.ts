import { z } from "zod";
import { IS_OPEN, pullField } from "./followed-store.ts";
import type { Tables } from "./tables.ts";

const UnfinishedRow = z.object({
  projectId: z.string(),
  /** `held` ones wait although there is room for them. */
  state: z.enum(["waiting", "running", "held"]),
  count: z.int(),
  /** When the oldest of them was accepted, epoch milliseconds. */
  oldestAt: z.int(),
});

/** What matters most about an open pull request, as the Slack app shows it. */
export const OpenPullState = z.enum([
  "conflicts",
  "checks-failed",
  "changes-requested",
  "draft",
  "approved",
  "waiting",
]);

const OpenPullRow = z.object({
  projectId: z.string(),
  state: OpenPullState,
  count: z.int(),
  /** When the oldest of them was opened, epoch milliseconds. */
  oldestAt: z.int(),
});

/**
 * How many turns and pull requests there are, for metrics. Each question reads only unfinished
 * ones.
 */
export class StandingStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The unfinished turns of each project. */
  unfinishedTurns(): z.infer<typeof UnfinishedRow>[] {
    const sql = `SELECT project_id AS projectId,
        iif(state = 'waiting' AND held <> 'null', 'held', state) AS state,
        count(*) AS count, min(accepted_at) AS oldestAt
      FROM turns WHERE state <> 'ended' GROUP BY 1, 2`;
    return this.#tables.all(UnfinishedRow, sql);
  }

  /** The followed pull requests that were open and seen at the last look, of each project. */
  openPulls(): z.infer<typeof OpenPullRow>[] {
    const sql = `SELECT followed.project_id AS projectId,
        CASE WHEN ${pullField("blockedBy")} = 'conflicts' THEN 'conflicts'
          WHEN ${pullField("checks.state")} = 'failed' THEN 'checks-failed'
          WHEN ${pullField("review")} = 'changes-requested' THEN 'changes-requested'
          WHEN ${pullField("isDraft")} THEN 'draft'
          WHEN ${pullField("review")} = 'approved' THEN 'approved'
          ELSE 'waiting' END AS state,
        count(*) AS count, min(coalesce(unixepoch(${pullField("openedAt")}) * 1000, began_at)) AS oldestAt
      FROM followed JOIN jobs ON jobs.id = job_id
      WHERE look_at IS NOT NULL AND ${IS_OPEN} AND coalesce(${pullField("isVisible")}, 1) GROUP BY 1, 2`;
    return this.#tables.all(OpenPullRow, sql);
  }
}
