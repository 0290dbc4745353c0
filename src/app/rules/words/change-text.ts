import type { JobDiff } from "../../../shared/contract/diff.ts";
import type { KeptPage, KeptPullRequest, KeptQuality, KeptTurn } from "../turn/reported-turn.ts";
import { counted, cut, grouped } from "../../../shared/text/text.ts";

const MAX_PROBLEMS = 5;

/** The known part of a change's size: `3 files, +12 −4`. */
export function diffText(
  report: Pick<KeptPullRequest, "files" | "additions" | "deletions"> | null | undefined,
): string {
  if (report === null || report === undefined) return "";
  const { files, additions, deletions } = report;
  const lines =
    additions === null || deletions === null ? "" : `+${grouped(additions)} −${grouped(deletions)}`;
  const changed = files === null ? "" : counted(files, "file");
  return [changed, lines].filter((part) => part !== "").join(", ");
}

/** The problems of all failed checks together, at least one of each: `2 new problems`, or empty. */
export function problemsCount(report: KeptQuality | undefined): string {
  const failed = checksOf(report, "failed");
  return failed.length === 0
    ? ""
    : problems(failed.reduce((sum, { findings }) => sum + Math.max(1, findings), 0));
}

/** One line per failed check. Untrusted. */
export function problemLines(report: KeptQuality | undefined): string[] {
  const failed = checksOf(report, "failed");
  const more = failed.length - MAX_PROBLEMS;
  const lines = failed.slice(0, MAX_PROBLEMS).map(({ name, findings, first }) => {
    if (first === null) return `${name}: ${problems(Math.max(1, findings))}`;
    return findings > 1 ? `${name}: ${problems(findings)}, such as ${first}` : `${name}: ${first}`;
  });
  return more > 0 ? [...lines, `${counted(more, "more check")} failed`] : lines;
}

/**
 * Other facts about a change: its size, checks and sources in one line, and a line for each note.
 * Untrusted.
 */
export function factLines(report: KeptTurn | undefined): string[] {
  if (report === undefined) return [];
  const { claims, notes = [], pullRequest } = report;
  const named = (result: string) => checksOf(report, result).map(({ name }) => name);
  const [passed, unchanged, unchecked] = [named("passed"), named("unchanged"), named("not-checked")];
  const facts = [
    diffText(pullRequest),
    // Passed checks don't matter beside failed ones.
    ...(passed.length > 0 && checksOf(report, "failed").length === 0
      ? [`Our checks passed: ${passed.join(", ")}`]
      : []),
    ...(unchanged.length > 0 ? [`Nothing new (fails without the change, too): ${unchanged.join(", ")}`] : []),
    ...(unchecked.length > 0 ? [`Not checked: ${unchecked.join(", ")}`] : []),
    // Words, links and names need no source.
    ...(claims === undefined || claims.total === 0 ? [] : [sourcesLine(claims)]),
  ].filter((fact) => fact !== "");
  return [...(facts.length === 0 ? [] : [facts.join(" · ")]), ...notes];
}

/** The first changed pages of a pull request, as far as they are known, and how many more. */
export function pagesToName(pullRequest: KeptPullRequest | null): { pages: PageText[]; morePages: number } {
  const { pages = [], files = null } = pullRequest ?? {};
  const isAll = pages.length === 1 && (files ?? 1) === 1;
  const shown = pages.map((page) => {
    const { path, words } = page;
    // A single page's size is that of the change.
    const size = pageSize(page, !isAll);
    return { path, about: `${size === "" ? "" : ` (${size})`}${words === null ? "" : `: ${words}`}` };
  });
  return { pages: shown, morePages: pages.length === 0 ? 0 : Math.max(0, (files ?? 0) - pages.length) };
}

function pageSize({ status, additions, deletions }: KeptPage, hasLines: boolean): string {
  if (status === "removed") return "removed";
  const isCounted = hasLines && additions !== null && deletions !== null;
  if (status === "added") return isCounted ? `new, +${grouped(additions)}` : "new";
  return isCounted ? `+${grouped(additions)} −${grouped(deletions)}` : "";
}

/** A page's path, and what follows it. Untrusted. */
export type PageText = { path: string; about: string };

function sourcesLine({ total, verified }: NonNullable<KeptQuality["claims"]>): string {
  return `Sources: ${grouped(verified)} of ${grouped(total)} found`;
}

function checksOf(report: KeptQuality | undefined, result: string) {
  return (report?.checks ?? []).filter((check) => check.result === result);
}

function problems(n: number): string {
  return counted(n, "new problem");
}

/** The most lines and files of a change that a message shows, and the longest line. */
const LINES_MAX = 40;
const FILES_MAX = 20;
const LINE_MAX = 160;

/** Characters that don't show, or change how the text around them reads. Tabs stay. */
const UNSEEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;
/** Lines that say again which file it is. */
const REPEATS = /^(?:index |--- |\+\+\+ )/;

/** The text with U+FFFD in place of characters that don't show. */
export function visibleDiff(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replace(UNSEEN, "\uFFFD");
}

const PULL = /\/([\w.-]{1,100})\/pull\/(\d{1,12})\/?$/;

/** The name of the file with a raw change: `docs-12.diff`, after its pull request if it has one. */
export function diffFileName(prLink: string | null): string {
  const [, repository, number] = PULL.exec(prLink ?? "") ?? [];
  return repository === undefined ? "changes.diff" : `${repository}-${number}.diff`;
}

/** The lines that a message has room for. */
export function diffLines({ diff }: Pick<JobDiff, "diff">): string[] {
  return allLines(diff)
    .slice(0, LINES_MAX)
    .map((line) => cut(line, LINE_MAX));
}

/** True if {@link diffLines} leaves something out. */
export function isLongDiff({ diff, isCut }: JobDiff): boolean {
  const lines = allLines(diff);
  return isCut || lines.length > LINES_MAX || lines.some(({ length }) => length > LINE_MAX);
}

function allLines(diff: string): string[] {
  let isHead = false;
  return visibleDiff(diff)
    .trimEnd()
    .split("\n")
    .filter((line) => {
      // Only heads have lines that begin like this: a file's lines begin with a sign.
      if (line.startsWith("diff --git ")) isHead = true;
      if (line.startsWith("@@")) isHead = false;
      return !(isHead && REPEATS.test(line));
    });
}

/** The changed files, a line each: `+12 −4 docs/install.md`. */
export function fileLines({ files, fileCount }: JobDiff): string[] {
  const shown = files.slice(0, FILES_MAX).map(({ path, status, additions, deletions }) => {
    const size = additions === null || deletions === null ? "" : `+${additions} −${deletions} `;
    const what = status === "changed" ? "" : ` (${status})`;
    return cut(visibleDiff(`${size}${path}`).replaceAll("\n", " "), LINE_MAX) + what;
  });
  const more = fileCount - shown.length;
  return more > 0 ? [...shown, `… and ${grouped(more)} more`] : shown;
}

/** The size of a whole change, for `diffText`. Its lines are null if not all are known. */
export function sizeOf({ files, fileCount }: JobDiff) {
  const sum = (of: "additions" | "deletions") => files.reduce((total, file) => total + (file[of] ?? 0), 0);
  const isAll = files.length === fileCount;
  return {
    files: fileCount,
    additions: isAll ? sum("additions") : null,
    deletions: isAll ? sum("deletions") : null,
  };
}
