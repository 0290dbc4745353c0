import type { Held } from "../../shared/contract/turn.ts";
import type { ServiceProject } from "../config/config.ts";
import { DAY_MS, type SpendingStore } from "./spending-store.ts";

/** A stretch of time in which a project's turns may cost a limited amount. */
type Span = { span: "day" | "month"; limitUsd: number | undefined; fromMs: number; untilMs: number };

/** The month and the day of this time (UTC), and what the project's turns may cost in them. */
export function budgetSpans(
  { limits: { usdPerDay, usdPerMonth } }: Pick<ServiceProject, "limits">,
  nowMs: number,
): Span[] {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const fromMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return [
    // The month comes first: it ends last.
    {
      span: "month",
      limitUsd: usdPerMonth,
      fromMs: Date.UTC(year, month),
      untilMs: Date.UTC(year, month + 1),
    },
    { span: "day", limitUsd: usdPerDay, fromMs, untilMs: fromMs + DAY_MS },
  ];
}

/**
 * Says until when no turn of the project may start, because its turns have cost as much as they may
 * in this day or month (UTC). Null if one may start. Turns that run go on, so the limit can be
 * exceeded by what they still cost.
 */
export function heldByBudget(
  spending: Pick<SpendingStore, "spentSince">,
  project: Pick<ServiceProject, "id" | "limits">,
  nowMs: number,
): Held | null {
  for (const { span, limitUsd, fromMs, untilMs } of budgetSpans(project, nowMs)) {
    if (limitUsd === undefined || spending.spentSince(project.id, fromMs) < limitUsd) continue;
    const name = { month: "This month's", day: "Today's" }[span];
    return { reason: `${name} budget of $${limitUsd.toFixed(2)} is used up.`, until: untilMs };
  }
  return null;
}
