import type { Held } from "../../shared/contract/turn.ts";
import type { ServiceProject } from "../config/config.ts";
import { DAY_MS, type SpendingStore } from "./spending-store.ts";

/** A stretch of time in which a project's turns may cost a limited amount. */
type Span = { name: string; limitUsd: number | undefined; fromMs: number; untilMs: number };

/**
 * Says until when no turn of the project may start, because its turns have cost as much as they may
 * in this day or month (UTC). Null if one may start. Turns that run go on, so the limit can be
 * exceeded by what they still cost.
 */
export function heldByBudget(
  spending: Pick<SpendingStore, "spentSince">,
  { id, limits: { usdPerDay, usdPerMonth } }: Pick<ServiceProject, "id" | "limits">,
  nowMs: number,
): Held | null {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const spans: Span[] = [
    // The month comes first: it ends last.
    {
      name: "This month's",
      limitUsd: usdPerMonth,
      fromMs: Date.UTC(year, month),
      untilMs: Date.UTC(year, month + 1),
    },
    { name: "Today's", limitUsd: usdPerDay, fromMs: dayMs, untilMs: dayMs + DAY_MS },
  ];
  for (const { name, limitUsd, fromMs, untilMs } of spans) {
    if (limitUsd === undefined || spending.spentSince(id, fromMs) < limitUsd) continue;
    return { reason: `${name} budget of $${limitUsd.toFixed(2)} is used up.`, until: untilMs };
  }
  return null;
}
