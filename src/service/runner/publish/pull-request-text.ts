import { NOTHING_NEW, type ProjectCheck, countFindings } from "../../../shared/contract/checks.ts";
import { counted, cut, listed } from "../../../shared/text/text.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import type { EarlierTurn, RunTurnInput } from "../runner.ts";
import { askedText, onlyPoints } from "./asked-text.ts";
import { closedMarkdown, fileName, inertText, markdownInLine, plainMarkdown } from "./inert-text.ts";
import type { SourcesText } from "./sources-text.ts";
import { cutAtWord } from "./cut-at-word.ts";
import { DRAFT_MARK, jobMark, marked, titleMark } from "./our-parts.ts";
import {
  folded,
  lengthOf,
  linesWithin,
  fittedList,
  fittedLists,
  startWithin,
  titled,
} from "./fitted-parts.ts";
import { withoutOpeners } from "./openers.ts";
import { type Overlap, overlapSentences } from "./overlaps-text.ts";
import { joinedWords, splitByPage } from "./page-words.ts";
import { belowTitle, saidTitle, titleOf } from "./title.ts";
import { type ChangedPage, isNothingLeft, TAKEN_BACK_TEXT, type WholeChange } from "./whole-change.ts";
import { wholeTitle } from "./whole-title.ts";
import { MAX_PAGES, type PullRequestPage } from "../../../shared/contract/pull-request.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import type { Requester } from "../../../shared/contract/request.ts";

/** What a pull request's text is made from. Its own turn is last. */
export type TurnText = Pick<RunTurnInput, "jobId" | "number" | "kind" | "prompt" | "words"> & {
  earlierTurns: readonly EarlierTurn[];
  summary: string | null;
  leftOut: readonly string[];
  /** Null if it couldn't be read. */
  change: WholeChange | null;
  /** The people that the text names, and where they asked. Null if it names nobody. */
  credit: { names: readonly string[]; link: Requester["link"] } | null;
  checks: readonly ProjectCheck[];
  /** What was found of the agent's sources: our own Markdown. Null if there are none. */
  sources: SourcesText | null;
  /** The other open pull requests that change the same pages as the whole change does now. */
  overlaps: readonly Overlap[];
  /** What to know about the checks before merging, or null. */
  caution: string | null;
  /** True if it is a draft because of a check's findings. */
  isOurDraft: boolean;
};

const MAX_SUMMARY_LENGTH = 8000;
/** The most characters of a pull request's text above the fold. */
const ABOVE_FOLD = 1500;
/** What is said of each page has so many characters, or fewer if that makes room for all pages. */
const PAGE_WORDS = { most: 400, fewer: [160, 60, 0] } as const;
/** The room of each part above the fold. */
const ROOM = { said: 450, pages: 400, checks: 250, leftOut: 120, closing: 200, least: 100 };
/** The title of a pull request that would change nothing. */
export const NOTHING_LEFT_TITLE = "Nothing left to merge";

/**
 * A pull request's title for all of its turns, before the settings' format is applied. What its
 * reviews led to isn't what it is about.
 */
export function changeTitle(turn: TurnText, redact: Redact): string {
  if (isNothingLeft(turn.change)) return NOTHING_LEFT_TITLE;
  const paths = (turn.change?.pages ?? []).map(({ path }) => redactedLine(redact, path, Infinity));
  const all = [...contributing(turn), turn];
  const asked = all.filter(({ kind }) => kind === "message");
  const turns = (asked.length === 0 ? all : asked).flatMap(({ summary, words }) => {
    const telling = words === null || onlyPoints(words) ? null : words;
    const title = saidTitle({ summary, words: telling }, redact);
    const pages = [...splitByPage(belowTitle(summary, redact), paths).wordsOf.keys()];
    return title === null ? [] : [{ title, pages }];
  });
  return wholeTitle(turns, paths) ?? titleOf(turn, redact);
}

/** The earlier turns that are part of the change, oldest first. */
function contributing({ earlierTurns, number, change }: TurnText): EarlierTurn[] {
  return earlierTurns.filter((_, at) => change?.turns.has(number - earlierTurns.length + at) === true);
}

/**
 * A pull request's text: what was wrong, what changed page by page, sources, checks, what isn't
 * included, which others overlap, what the agent says of itself and who asked. What was asked is
 * folded below that. Everything from others is inert and redacted. The rest of a prompt is only for
 * the agent, because it may be a conversation that nobody chose to publish. `title` is the one that
 * we give the pull request: null if a person gave it another one.
 */
export function bodyOf(
  turn: TurnText,
  redact: Redact,
  { hasChecksPart = false, title }: { hasChecksPart?: boolean; title?: string | null } = {},
): string {
  const { rest, closing, wordsOf } = splitSummaries(turn, redact);
  const pagesWith = (maxWords: number) =>
    (turn.change?.pages ?? []).map((page) => pageLine(page, wordsOf, maxWords, redact));
  const pages = pagesWith(PAGE_WORDS.most);
  const leftOut = turn.leftOut.map(leftOutLine);
  const said = closedMarkdown(startWithin(rest, ROOM.said));
  const checks = hasChecksPart ? "" : checksText(turn, redact);
  const notIncluded = fittedList("Not included", leftOut, ROOM.leftOut, "file");
  const credit = creditText(turn);
  const overlaps = overlapSentences(turn.overlaps, fileName).join("\n\n");
  const nothing = NOTHING_LEFT[turn.change?.nothingLeft ?? "no"];
  const saidLast = closedMarkdown(startWithin(closing, ROOM.closing));
  const room = ABOVE_FOLD - lengthOf([nothing, said, checks, notIncluded.short, overlaps, saidLast, credit]);
  const forPages = Math.min(ROOM.pages, lengthOf([titled("Changed", pages.join("\n"))]));
  const { found = "", lines: sourceLines = [] } = turn.sources ?? {};
  const sourcesRoom = Math.max(ROOM.least, room - forPages);
  const sources = fittedList(`Sources: ${found}`, sourceLines, sourcesRoom, "source");
  const leftForPages = Math.max(ROOM.least, room - lengthOf([sources.short]));
  const changed = fittedLists("Changed", [pages, ...PAGE_WORDS.fewer.map(pagesWith)], leftForPages, "page");
  const shown = [nothing, said, changed.short, sources.short, checks, notIncluded.short];
  const above = [...shown, overlaps, saidLast, credit];
  const all = [
    ...(rest.length > ROOM.said ? [closedMarkdown(cut(rest, MAX_SUMMARY_LENGTH))] : []),
    ...[changed, sources, notIncluded].flatMap(({ whole }) => whole),
    ...(closing.length > ROOM.closing ? [closedMarkdown(cut(closing, MAX_SUMMARY_LENGTH))] : []),
  ];
  const asked = askedText(turn, redact);
  const below = [
    ...(all.length === 0 ? [] : [folded("More about the change", all.join("\n\n"))]),
    ...(asked === "" ? [] : [folded("What was asked", asked)]),
    ...(turn.isOurDraft ? [DRAFT_MARK] : []),
    ...(title === undefined ? [] : [titleMark(title)]),
    jobMark(turn.jobId),
  ];
  return marked("main", [...above, ...below].filter((part) => part !== "").join("\n\n"));
}

/** The first changed pages for a job's record, each with what the turns say of it. */
export function recordedPages(turn: TurnText, redact: Redact): PullRequestPage[] {
  const { wordsOf } = splitSummaries(turn, redact);
  return (turn.change?.pages ?? []).slice(0, MAX_PAGES).map((page) => ({
    ...page,
    path: redactedLine(redact, page.path, SHOWN_CHARS.path),
    words: cutAtWord(oneLine(joinedWords(wordsOf.get(page.path) ?? []), Infinity), SHOWN_CHARS.line) || null,
  }));
}

/** Said above everything else. */
const NOTHING_LEFT = {
  "taken-back": TAKEN_BACK_TEXT,
  "in-base": "Nothing is left to merge: the base branch has the same changes already.",
  no: "",
} as const;

/** What the project's checks found, for a text that has its own section for that. */
export function checksPart(turn: TurnText, redact: Redact): string {
  return marked("checks", checksText(turn, redact));
}

/**
 * What the turns' summaries say, oldest first, what they say of their agent, and what about single
 * pages. What they say about pages that the change no longer has is left out.
 */
function splitSummaries(turn: TurnText, redact: Redact) {
  const { pages = [], undone = [] } = turn.change ?? {};
  const paths = [...pages.map(({ path }) => path), ...undone];
  const wordsOf = new Map<string, string[]>();
  const turns = [...contributing(turn), turn].map(({ summary }) => {
    const split = splitByPage(belowTitle(summary, redact), paths);
    for (const [path, words] of split.wordsOf) wordsOf.set(path, [...(wordsOf.get(path) ?? []), words]);
    return withoutOpeners(split.rest);
  });
  const rest = new Set(turns.map(({ text }) => text).filter((text) => text !== ""));
  const closing = new Set(turns.flatMap((each) => each.closing));
  return { rest: [...rest].join("\n\n"), closing: [...closing].join("\n\n"), wordsOf };
}

/** What happened to a page. A later turn shows in the size of a page that is new, too. */
function sizeOf({ status, additions, deletions }: ChangedPage): string {
  if (status === "removed") return "removed";
  const isCounted = additions !== null && deletions !== null;
  if (status === "added") return isCounted ? `new, +${additions}` : "new";
  return isCounted ? `+${additions} −${deletions}` : "";
}

function pageLine(
  page: ChangedPage,
  wordsOf: ReadonlyMap<string, readonly string[]>,
  maxWords: number,
  redact: Redact,
): string {
  const { path } = page;
  const counts = sizeOf(page);
  const words = cutAtWord(oneLine(joinedWords(wordsOf.get(path) ?? []), Infinity), maxWords);
  const said = words === "" || words === counts ? "" : `: ${markdownInLine(words)}`;
  return `- ${fileName(redactedLine(redact, path, 200))}${counts === "" ? "" : ` (${counts})`}${said}`;
}

function leftOutLine(path: string): string {
  return /^… and \d+ more$/.test(path) ? `- ${path}` : `- ${fileName(path)}`;
}

function checksText({ checks, caution }: TurnText, redact: Redact): string {
  const lines = checks.map(({ name, result, findings }) => {
    const [first] = findings;
    const found = first === undefined ? "" : `: ${plainMarkdown(redactedLine(redact, first, 120))}`;
    switch (result) {
      case "passed":
        return `- ${inertText(name)}: passed`;
      case "unchanged":
        return `- ${inertText(name)}: ${NOTHING_NEW}`;
      case "not-checked":
        return `- ${inertText(name)}: not checked${found.replace(/^:/, ".")}`;
      case "failed":
        return `- ${inertText(name)}: ${counted(countFindings(findings), "new finding")}${found}`;
    }
  });
  const said = caution === null ? "" : `${caution}\n\n`;
  if (lines.length === 0) return said.trim();
  if (said === "" && checks.every(({ result }) => result === "passed")) {
    return titled(
      "Our checks passed",
      cut(checks.map(({ name }) => inertText(name)).join(", "), ROOM.checks),
    );
  }
  return titled("Our checks", `${said}${linesWithin(lines, ROOM.checks, "check")}`);
}

/** More people are only counted. */
const MAX_NAMES = 5;

function creditText({ credit }: TurnText): string {
  if (credit === null) return "";
  const names = credit.names.slice(0, MAX_NAMES).map((name) => plainMarkdown(oneLine(name, 80)));
  const more = credit.names.length - names.length;
  const all = [...names, ...(more === 0 ? [] : [counted(more, "other", "others")])];
  const who = listed(all);
  const link = credit.link === null ? null : URL.parse(credit.link);
  const isLink = link !== null && link.protocol === "https:" && link.href.length <= 500;
  const where = isLink ? ` in [this thread](<${link.href.replaceAll(/[<>\s]/g, "")}>)` : "";
  return `Requested by ${who}${where}.`;
}
