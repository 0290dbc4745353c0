import { NOTHING_NEW, type ProjectCheck, countFindings } from "../../../shared/contract/checks.ts";
import { counted, cut } from "../../../shared/text/text.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { JOB_TRAILER, TURN_TRAILER, turnKeyOf } from "./earlier-push.ts";
import type { EarlierTurn, RunTurnInput } from "../runner.ts";
import {
  BREAK,
  closedMarkdown,
  fileName,
  inertText,
  inertWords,
  markdownInLine,
  plainMarkdown,
  quoted,
} from "./inert-text.ts";
import type { SourcesText } from "./sources-text.ts";
import { DRAFT_MARK, marked } from "./our-parts.ts";
import { belowTitle, formattedTitle, titleOf, wholeTitle } from "./title.ts";
import { type ChangedPage, isNothingLeft, TAKEN_BACK_TEXT, type WholeChange } from "./whole-change.ts";
import { wrappedText } from "./wrapped-text.ts";
import type { Requester } from "../../../shared/contract/request.ts";

/** What a pull request's text is made from. Its own turn is last. */
export type TurnText = Pick<RunTurnInput, "jobId" | "number" | "prompt" | "words"> & {
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
  /** What to know about the checks before merging, or null. */
  caution: string | null;
  /** True if it is a draft because of a check's findings. */
  isOurDraft: boolean;
};

const MAX_WORDS_LENGTH = 8000;
const MAX_SUMMARY_LENGTH = 8000;
const MAX_EARLIER_LENGTH = 12_000;
const MAX_LISTED_LENGTH = 8000;
/** The room of each part above the fold. */
const ROOM = { said: 450, pages: 400, checks: 250, leftOut: 120, least: 100 };
/** The title of a pull request that would change nothing. */
export const NOTHING_LEFT_TITLE = "Nothing left to merge";

/** A pull request's title for all of its turns, before the settings' format is applied. */
export function changeTitle(turn: TurnText, redact: Redact): string {
  if (isNothingLeft(turn.change)) return NOTHING_LEFT_TITLE;
  return wholeTitle([...earlierTitles(turn, redact), titleOf(turn, redact)]);
}

/** The titles of the earlier turns that are part of the change, oldest first. */
export function earlierTitles(turn: TurnText, redact: Redact): string[] {
  return contributing(turn).map((earlier) => titleOf({ ...earlier, jobId: turn.jobId }, redact));
}

/** The earlier turns that are part of the change, oldest first. */
function contributing({ earlierTurns, number, change }: TurnText): EarlierTurn[] {
  return earlierTurns.filter((_, at) => change?.turns.has(number - earlierTurns.length + at) === true);
}

/**
 * A pull request's text: what was wrong, what changed page by page, sources, checks, what isn't
 * included and who asked. What was asked is folded below that. Everything from others is inert and
 * redacted. The rest of a prompt is only for the agent, because it may be a conversation that
 * nobody chose to publish.
 */
export function bodyOf(turn: TurnText, redact: Redact, hasChecksPart = false): string {
  const { rest, wordsOf } = splitSummaries(turn, redact);
  const pages = (turn.change?.pages ?? []).map((page) => pageLine(page, wordsOf, redact));
  const leftOut = turn.leftOut.map(leftOutLine);
  const said = closedMarkdown(startWithin(rest, ROOM.said));
  const checks = hasChecksPart ? "" : checksText(turn, redact);
  const notIncluded = listOf("Not included", leftOut, ROOM.leftOut, "file");
  const credit = creditText(turn);
  const nothing = NOTHING_LEFT[turn.change?.nothingLeft ?? "no"];
  const room = ABOVE_FOLD - lengthOf([nothing, said, checks, notIncluded.short, credit]);
  const forPages = Math.min(ROOM.pages, lengthOf([titled("Changed", pages.join("\n"))]));
  const { found = "", lines: sourceLines = [] } = turn.sources ?? {};
  const sourcesRoom = Math.max(ROOM.least, room - forPages);
  const sources = listOf(`Sources: ${found}`, sourceLines, sourcesRoom, "source");
  const leftForPages = Math.max(ROOM.least, room - lengthOf([sources.short]));
  const changed = listOf("Changed", pages, leftForPages, "page");
  const above = [nothing, said, changed.short, sources.short, checks, notIncluded.short, credit];
  const all = [
    ...(rest.length > ROOM.said ? [closedMarkdown(cut(rest, MAX_SUMMARY_LENGTH))] : []),
    ...[changed, sources, notIncluded].flatMap(({ whole }) => whole),
  ];
  const below = [
    ...(all.length === 0 ? [] : [folded("More about the change", all.join("\n\n"))]),
    folded("What was asked", askedText(turn, redact)),
    ...(turn.isOurDraft ? [DRAFT_MARK] : []),
  ];
  return marked("main", [...above, ...below].filter((part) => part !== "").join("\n\n"));
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

/** Git reads no trailers of a message that holds this line (`wt-status.c`: `cut_line`). */
const SCISSORS = /(?<=-{24} )>(?=8 -{24})/g;

type CommitText = Pick<TurnText, "jobId" | "number" | "prompt" | "words" | "summary"> & {
  titleTemplate: string;
  /** Who signs the commit off, as `name <email>`, or null. */
  signedOffBy: string | null;
};

/**
 * The commit's message. Its last lines name the job and the turn, so that a turn that was pushed
 * before a crash is recognized and not done twice.
 */
export function commitMessageOf(turn: CommitText, redact: Redact): string {
  const subject = formattedTitle(turn.titleTemplate, titleOf(turn, redact));
  const below = wrappedText(inertWords(cut(belowTitle(turn.summary, redact), 2000)));
  const summary = below === "" ? "" : `${below}\n\n`;
  // Linters look for a sign-off in the last line.
  const signOff = turn.signedOffBy === null ? "" : `Signed-off-by: ${turn.signedOffBy}\n`;
  const trailers = `${JOB_TRAILER}: ${turn.jobId}\n${TURN_TRAILER}: ${turnKeyOf(turn)}\n${signOff}`;
  return `${subject}\n\n${summary}`.replace(SCISSORS, `>${BREAK}`) + trailers;
}

function titled(title: string, lines: string): string {
  return /^- |\n/.test(lines) ? `**${title}**\n\n${lines}` : `**${title}:** ${lines}`;
}

/**
 * A list with its title: as much of it as fits above the fold, and the `whole` list if that isn't
 * all of it.
 */
function listOf(title: string, lines: readonly string[], room: number, what: string) {
  if (lines.length === 0) return { short: "", whole: [] };
  const listed = (length: number) => titled(title, linesWithin(lines, length, what));
  const short = listed(room - titled(title, "").length);
  return { short, whole: short === listed(Infinity) ? [] : [listed(MAX_LISTED_LENGTH)] };
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + (part === "" ? 0 : part.length + 2), 0);
}

/** What the turns' summaries say, with the parts about single pages taken out. */
function splitSummaries(turn: TurnText, redact: Redact) {
  const paths = (turn.change?.pages ?? []).map(({ path }) => path);
  const wordsOf = new Map<string, string>();
  const turns = [...contributing(turn), turn].map(({ summary }) => {
    const split = splitByPage(belowTitle(summary, redact), paths);
    for (const [path, words] of split.wordsOf) wordsOf.set(path, words);
    return split.rest;
  });
  const rest = new Set(turns.toReversed().filter((text) => text !== ""));
  return { rest: [...rest].join("\n\n"), wordsOf };
}

/** What happened to a page. A later turn shows in the size of a page that is new, too. */
function sizeOf({ status, additions, deletions }: ChangedPage): string {
  if (status === "removed") return "removed";
  const isCounted = additions !== null && deletions !== null;
  if (status === "added") return isCounted ? `new, +${additions}` : "new";
  return isCounted ? `+${additions} −${deletions}` : "";
}

function pageLine(page: ChangedPage, wordsOf: Map<string, string>, redact: Redact): string {
  const { path } = page;
  const counts = sizeOf(page);
  const words = wordsOf.get(path);
  const said = words === undefined ? "" : `: ${markdownInLine(oneLine(words, 200))}`;
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
  return titled("Checks", `${said}${linesWithin(lines, ROOM.checks, "check")}`);
}

/** More people are only counted. */
const MAX_NAMES = 5;

function creditText({ credit }: TurnText): string {
  if (credit === null) return "";
  const names = credit.names.slice(0, MAX_NAMES).map((name) => plainMarkdown(oneLine(name, 80)));
  const more = credit.names.length - names.length;
  const all = [...names, ...(more === 0 ? [] : [counted(more, "other", "others")])];
  const last = all.pop() ?? "";
  const who = all.length === 0 ? last : `${all.join(", ")} and ${last}`;
  const link = credit.link === null ? null : URL.parse(credit.link);
  const isLink = link !== null && link.protocol === "https:" && link.href.length <= 500;
  const where = isLink ? ` in [this thread](<${link.href.replaceAll(/[<>\s]/g, "")}>)` : "";
  return `Requested by ${who}${where}.`;
}

/** What people asked for in their own words, and the job's id for the service's operator. */
function askedText(turn: TurnText, redact: Redact): string {
  const own = turn.words === null ? [] : [quoted(cut(redact(turn.words), MAX_WORDS_LENGTH))];
  const earlier = turn.earlierTurns.flatMap(({ words, outcome }) =>
    words === null ? [] : [`${EARLIER[outcome ?? ""] ?? EARLIER_ASKED}:`, quoted(cut(redact(words), 2000))],
  );
  const before = cut(earlier.join("\n\n"), MAX_EARLIER_LENGTH);
  return [...own, ...(before === "" ? [] : [before]), `Job \`${turn.jobId}\``].join("\n\n");
}

const EARLIER_ASKED = "Asked before";
/** What became of an earlier turn that isn't part of the change. */
const EARLIER: Readonly<Record<string, string>> = {
  failed: "Asked before, and failed",
  "no-changes": "Asked before, and nothing was changed",
  cancelled: "Asked before, and stopped",
};

const MAX_PAGE_WORDS_LENGTH = 160;
/**
 * Matches `- <page>: the new flag`, with or without a number, marks, or code around the path. Its
 * parts are bounded, because an agent's line could take minutes otherwise.
 */
const LINE = new RegExp(
  String.raw`^\s*(?:[-*+]|\d+[.)])\s+[*_\x60[]{0,9}([^\s*_\x60:[\]][^\s*_\x60:\]]{0,299})[\]*_\x60]{0,9}` +
    String.raw`(?:\([^)]{0,300}\))?[*_\x60]{0,9}\s*(?::|–|—|-)\s+(\S.*)$`,
);

/**
 * Takes the lines about one of these pages out of a summary, so that they can be shown with the
 * page. A line may name a page by the end of its path if no other page has the same ending.
 */
function splitByPage(summary: string, paths: readonly string[]) {
  const wordsOf = new Map<string, string>();
  const rest = summary.split("\n").filter((line) => {
    const [, named = "", words = ""] = LINE.exec(line) ?? [];
    const ending = named.replace(/^\.?\//, "");
    const meant = paths.filter((path) => path === ending || path.endsWith(`/${ending}`));
    const [path] = paths.includes(ending) ? [ending] : meant;
    if (named === "" || path === undefined || (meant.length > 1 && path !== ending)) return true;
    // A second line about it says something else, such as what was left alone.
    if (wordsOf.has(path)) return true;
    wordsOf.set(path, cut(words, MAX_PAGE_WORDS_LENGTH));
    return false;
  });
  return { rest: rest.join("\n").trim(), wordsOf };
}

/** The most characters of a pull request's text above the fold. */
const ABOVE_FOLD = 1500;

/** As many of the lines as fit, and how many more there are. `what` is the word for one of them. */
function linesWithin(lines: readonly string[], room: number, what: string): string {
  const kept: string[] = [];
  let left = room - `- … and ${lines.length} more ${what}s`.length;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) break;
    kept.push(line);
  }
  const more = lines.length - kept.length;
  const rest = more === 0 ? [] : [`- … and ${more} more ${what}${more === 1 ? "" : "s"}`];
  return [...kept, ...rest].join("\n");
}

/** The beginning of a text, if possible up to the end of a paragraph or a line. */
function startWithin(text: string, room: number): string {
  if (text.length <= room) return text;
  const start = text.slice(0, room);
  const end = [start.lastIndexOf("\n\n"), start.lastIndexOf("\n")].find((at) => at > room / 2);
  return end === undefined ? cut(text, room) : `${start.slice(0, end).trimEnd()}\n\n…`;
}

/** A section that opens when it is clicked. Its title is ours. */
function folded(title: string, text: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}
