import type { QualityReport } from "../job/reported-quality.ts";
import type { PullRequestReport, ResultReport } from "../job/reported-turn.ts";

const MAX_PROBLEMS = 5;

/** The known part of a change's size: `3 files, +12 −4`. */
export function diffText(
  report: Pick<PullRequestReport, "files" | "additions" | "deletions"> | null | undefined,
): string {
  if (report === null || report === undefined) return "";
  const { files, additions, deletions } = report;
  const lines = additions === null || deletions === null ? "" : `+${count(additions)} −${count(deletions)}`;
  const changed = files === null ? "" : `${count(files)} ${files === 1 ? "file" : "files"}`;
  return [changed, lines].filter((part) => part !== "").join(", ");
}

/** The problems of all failed checks together, at least one of each: `2 new problems`, or empty. */
export function problemsCount(report: QualityReport | undefined): string {
  const failed = failedChecks(report);
  return failed.length === 0
    ? ""
    : problems(failed.reduce((sum, { findings }) => sum + Math.max(1, findings), 0));
}

/** One line per failed check. Untrusted. */
export function problemLines(report: QualityReport | undefined): string[] {
  const failed = failedChecks(report);
  const more = failed.length - MAX_PROBLEMS;
  const lines = failed.slice(0, MAX_PROBLEMS).map(({ name, findings, first }) => {
    if (first === null) return `${name}: ${problems(Math.max(1, findings))}`;
    return findings > 1 ? `${name}: ${problems(findings)}, such as ${first}` : `${name}: ${first}`;
  });
  return more > 0 ? [...lines, `${more} more ${more === 1 ? "check" : "checks"} failed`] : lines;
}

/** Other facts about a change, one line each. Untrusted. */
export function factLines(report: ResultReport | undefined): string[] {
  if (report === undefined) return [];
  const { claims, notes = [] } = report;
  const named = (result: string) => checksOf(report, result).map(({ name }) => name);
  const [passed, unchecked] = [named("passed"), named("not-checked")];
  return [
    // Passed checks don't matter beside failed ones.
    ...(passed.length > 0 && failedChecks(report).length === 0
      ? [`Checks passed: ${passed.join(", ")}`]
      : []),
    ...(unchecked.length > 0 ? [`Not checked: ${unchecked.join(", ")}`] : []),
    ...(claims === undefined ? [] : [sourcesLine(claims)]),
    ...notes,
  ];
}

function sourcesLine({ total, verified }: NonNullable<QualityReport["claims"]>): string {
  if (total === 0) return "The agent named no sources.";
  return `${count(total)} ${total === 1 ? "statement" : "statements"}, ${count(verified)} with a source`;
}

function failedChecks(report: QualityReport | undefined) {
  return checksOf(report, "failed");
}

function checksOf(report: QualityReport | undefined, result: string) {
  return (report?.checks ?? []).filter((check) => check.result === result);
}

function problems(n: number): string {
  return `${count(n)} new ${n === 1 ? "problem" : "problems"}`;
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
