import type { ReportedUsage } from "../../src/core/ports/job-service.ts";

/** What two runs of an agent used together. What neither tells stays null. */
export function sumOf(before: ReportedUsage | null, now: ReportedUsage): ReportedUsage;
export function sumOf(before: ReportedUsage | null, now: ReportedUsage | null): ReportedUsage | null;
export function sumOf(before: ReportedUsage | null, now: ReportedUsage | null): ReportedUsage | null {
  if (before === null || now === null) return now ?? before;
  const plus = (one: number | null, other: number | null) =>
    one === null && other === null ? null : (one ?? 0) + (other ?? 0);
  return {
    inputTokens: plus(before.inputTokens, now.inputTokens),
    outputTokens: plus(before.outputTokens, now.outputTokens),
    cachedInputTokens: plus(before.cachedInputTokens, now.cachedInputTokens),
    calls: plus(before.calls, now.calls),
    costUsd: plus(before.costUsd, now.costUsd),
  };
}
