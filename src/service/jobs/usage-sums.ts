import { z } from "zod";
import { json } from "../base/json.ts";
import type { Tables } from "./tables.ts";

/** What usage is summed up by. */
export const UsageBy = z.enum(["project", "person"]);
export type UsageBy = z.infer<typeof UsageBy>;

/** What to sum up: turns that were accepted, and pull requests that were merged, since then. */
export type UsageOf = { sinceMs: number; by: UsageBy; projectId: string | null };

const Count = z.int();
const Outcomes = z.object({
  pullRequest: Count,
  branch: Count,
  answered: Count,
  noChanges: Count,
  failed: Count,
  stopped: Count,
  unfinished: Count,
});

/** What a project's or a person's turns came to. */
export const UsageSum = z.object({
  /** The project's or the person's id. Null if nobody asked, or nobody knows who. */
  id: z.string().nullable(),
  /** The person's newest name. Null for a project. */
  name: z.string().nullable(),
  turns: Count,
  outcomes: json(Outcomes),
  merged: Count,
  /** Of these, those that people didn't change, and those of which that isn't known. */
  mergedWithoutEdits: Count,
  mergedUnknown: Count,
  costUsd: z.number(),
  /** The turns whose agent has run, and of which no cost is known. */
  turnsWithoutCost: Count,
  inputTokens: z.number(),
  outputTokens: z.number(),
});
export type UsageSum = z.infer<typeof UsageSum>;

/** A client that sends no ids is known by names. */
const PERSON = `iif(is_unasked, NULL, coalesce(authors ->> '$.requester', requester ->> '$.name'))`;
const count = (condition: string) => `count(*) FILTER (WHERE ${condition})`;
const OUTCOMES = `json_object(
    'pullRequest', ${count("outcome = 'pull-request'")},
    'branch', ${count("outcome = 'branch'")},
    'answered', ${count("outcome = 'no-changes' AND reason IS NULL")},
    'noChanges', ${count("outcome = 'no-changes' AND reason IS NOT NULL")},
    'failed', ${count("outcome = 'failed'")},
    'stopped', ${count("outcome IN ('cancelled', 'archived')")},
    'unfinished', ${count("state <> 'ended'")})`;
const NO_OUTCOMES = JSON.stringify({
  pullRequest: 0,
  branch: 0,
  answered: 0,
  noChanges: 0,
  failed: 0,
  stopped: 0,
  unfinished: 0,
});
/** A pull request counts for whoever asked for the turn that left it first. */
const FIRST = `coalesce((SELECT min(number) FROM turns WHERE turns.job_id = merges.job_id AND
    pull_request ->> '$.url' = link), (SELECT min(number) FROM turns WHERE turns.job_id = merges.job_id))`;

/** Sums up turns and merged pull requests, those with the most turns first. */
export function sumUsage(tables: Tables, { sinceMs, by, projectId }: UsageOf): UsageSum[] {
  const id = by === "project" ? "project_id" : PERSON;
  const name = by === "project" ? "NULL" : `requester ->> '$.name'`;
  const used = (field: string) => `total(usage ->> '$.${field}')`;
  const isOf = "(?2 IS NULL OR project_id = ?2)";
  // With max(), SQLite takes the other columns from the row that has it: the name is the newest.
  const sql = `WITH asked AS (
      SELECT ${id} AS id, iif(is_unasked, NULL, ${name}) AS name, max(accepted_at), count(*) AS turns,
        ${OUTCOMES} AS outcomes,
        round(${used("costUsd")}, 6) AS costUsd,
        ${count("usage ->> '$.costUsd' IS NULL AND brief IS NOT NULL")} AS turnsWithoutCost,
        ${used("inputTokens")} AS inputTokens, ${used("outputTokens")} AS outputTokens
      FROM turns WHERE accepted_at >= ?1 AND ${isOf} GROUP BY 1
    ), merged AS (
      SELECT ${by === "project" ? "turns.project_id" : PERSON} AS id, ${name} AS name, max(merged_at),
        count(*) AS merged, ${count("edits = 'none'")} AS without, ${count("edits = 'unknown'")} AS unknown
      FROM merges JOIN turns ON turns.job_id = merges.job_id AND number = ${FIRST}
      WHERE merged_at >= ?1 AND ${isOf.replace("project_id", "merges.project_id")} GROUP BY 1
    )
    SELECT coalesce(asked.id, merged.id) AS id, coalesce(asked.name, merged.name) AS name,
      coalesce(turns, 0) AS turns, coalesce(outcomes, '${NO_OUTCOMES}') AS outcomes,
      coalesce(merged, 0) AS merged, coalesce(without, 0) AS mergedWithoutEdits,
      coalesce(unknown, 0) AS mergedUnknown, coalesce(costUsd, 0) AS costUsd,
      coalesce(turnsWithoutCost, 0) AS turnsWithoutCost,
      coalesce(inputTokens, 0) AS inputTokens, coalesce(outputTokens, 0) AS outputTokens
    FROM asked FULL JOIN merged ON asked.id IS merged.id ORDER BY turns DESC, merged DESC, id`;
  return tables.all(UsageSum, sql, sinceMs, projectId);
}
