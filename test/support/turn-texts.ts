import type { TurnText } from "../../src/service/runner/publish/pull-request-text.ts";

/** The last of turns with these summaries, which changed these pages together. */
export function lastOf(
  summaries: readonly string[],
  paths: readonly string[],
  more: Partial<TurnText> = {},
): TurnText {
  const turns = summaries.map((summary, at) => ({
    kind: "message" as const,
    prompt: `Turn ${at + 1}`,
    words: summary === "" ? null : `Turn ${at + 1}`,
    authors: null,
    summary,
    outcome: "pull-request" as const,
  }));
  const [own] = turns.slice(-1);
  const pages = paths.map((path) => ({ path, status: "changed" as const, additions: 2, deletions: 1 }));
  return {
    jobId: "j1",
    number: turns.length,
    kind: "message",
    prompt: "",
    words: null,
    summary: null,
    ...own,
    earlierTurns: turns.slice(0, -1),
    leftOut: [],
    change: { pages, undone: [], turns: new Set(turns.map((_, at) => at + 1)), nothingLeft: null },
    credit: null,
    checks: [],
    sources: null,
    overlaps: [],
    caution: null,
    isOurDraft: false,
    ...more,
  };
}
