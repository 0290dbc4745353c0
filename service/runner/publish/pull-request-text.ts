import { cut } from "../../../src/core/text/text.ts";
import { oneLine } from "../printable-text.ts";
import type { Redact } from "../redaction.ts";
import type { EarlierTurn } from "../turn-runner.ts";
import { JOB_TRAILER, TURN_TRAILER, turnKeyOf } from "../earlier-push.ts";
import { closedMarkdown, fileName, inertText, quoted } from "./inert-text.ts";

export type TurnText = {
  jobId: string;
  prompt: string;
  number: number;
  words: string | null;
  earlierTurns: readonly EarlierTurn[];
  summary: string | null;
  leftOut: readonly string[];
};

const MAX_TITLE_LENGTH = 72;
const MAX_LEFT_OUT = 50;
const MAX_SUMMARY_LENGTH = 12_000;
const MAX_WORDS_LENGTH = 8000;
const MAX_EARLIER_LENGTH = 20_000;
/**
 * Lines that programs and agents write on the way: warnings, log lines, errors. None of them says
 * what a pull request is about.
 */
const ASIDE = new RegExp(
  String.raw`^\W*(?:\(node:\d+\)|npm (?:warn|err)|(?:[\w-]*warning|warn|error|fatal|info|debug|` +
    String.raw`notice|note|caution|deprecated|deprecation)\b(?: ?\([^)]{0,40}\))?[\]:!]|\[(?:warn|` +
    String.raw`error|info|debug))|^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|[\u26a0\u2757\u274c\u{1f6a8}])`,
  "iu",
);
const START = "<!-- docs-agent:start -->";
const END = "<!-- docs-agent:end -->";

/**
 * One line of at most 72 characters: the start of the agent's summary, warnings and the like passed
 * over, else of the person's words.
 */
export function titleOf({ summary, words, jobId }: TurnText, redact: Redact): string {
  for (const text of [summary ?? "", words ?? ""]) {
    const line = redact(text)
      .split("\n")
      .filter((each) => !ASIDE.test(each))
      .map((each) => oneLine(withoutMarks(each), MAX_TITLE_LENGTH))
      .find((each) => /[\p{L}\p{N}]/u.test(each));
    if (line !== undefined) return line;
  }
  return `Documentation changes of job ${jobId}`;
}

function withoutMarks(line: string): string {
  return inertText(line)
    .replace(/^[\s#>*\-=_`]+/, "")
    .replace(/[`*_]+$/, "");
}

/** The redacted summary without a first line that is the title. */
function belowTitle(turn: TurnText, redact: Redact): string {
  const summary = redact(turn.summary ?? "").trim();
  const [first = "", ...others] = summary.split("\n");
  return withoutMarks(first) === titleOf(turn, redact) ? others.join("\n").trim() : summary;
}

/**
 * The pull request's text: summary, the people's words quoted, what was left out, the job.
 * Everything foreign is inert and redacted. The rest of a prompt is for the agent alone: it may be
 * a conversation that nobody chose to publish.
 */
export function bodyOf(turn: TurnText, redact: Redact): string {
  // A follow-up's pull request has the title that it got before.
  const summary = turn.number === 1 ? belowTitle(turn, redact) : redact(turn.summary ?? "");
  const sections = [
    closedMarkdown(cut(summary, MAX_SUMMARY_LENGTH)),
    turn.words === null ? "" : `Requested:\n\n${quoted(cut(redact(turn.words), MAX_WORDS_LENGTH))}`,
    earlierSection(turn.earlierTurns, redact),
    leftOutSection(turn.leftOut, redact),
    `Job \`${turn.jobId}\``,
  ];
  return [START, ...sections.filter((section) => section !== ""), END].join("\n\n");
}

/** Replaces our part of a pull request's text, and keeps what people wrote around it. */
export function mergedBody(existing: string | null, ours: string): string {
  const from = existing?.indexOf(START) ?? -1;
  const to = existing?.indexOf(END, from) ?? -1;
  if (existing === null || from < 0 || to < 0) return ours;
  return existing.slice(0, from) + ours + existing.slice(to + END.length);
}

/**
 * The commit's message. Its last lines name job and turn: by them a turn that was pushed before a
 * crash is known again, and not done twice.
 */
export function commitMessageOf(turn: TurnText, redact: Redact): string {
  const below = inertText(cut(belowTitle(turn, redact), 2000));
  const summary = below === "" ? "" : `${below}\n\n`;
  return (
    `${titleOf(turn, redact)}\n\n${summary}${JOB_TRAILER}: ${turn.jobId}\n${TURN_TRAILER}: ` +
    `${turnKeyOf(turn)}\n`
  );
}

/** Paths for a result: redacted, bounded in number and length. */
export function boundedPaths(paths: readonly string[], redact: Redact): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT).map((path) => oneLine(redact(path), 200));
  const more = paths.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

function earlierSection(turns: readonly EarlierTurn[], redact: Redact): string {
  const words = turns.flatMap((turn) => turn.words ?? []);
  if (words.length === 0) return "";
  const quotes = words.map((each) => quoted(cut(redact(each), 2000))).join("\n\n");
  return `Before that:\n\n${cut(quotes, MAX_EARLIER_LENGTH)}`;
}

function leftOutSection(paths: readonly string[], redact: Redact): string {
  if (paths.length === 0) return "";
  const lines = boundedPaths(paths, redact).map((path) =>
    path.startsWith("… and") ? `- ${path}` : `- ${fileName(path)}`,
  );
  return (
    "Not included (outside this project's docs, or named in a way that some systems can't " +
    `hold):\n\n${lines.join("\n")}`
  );
}
