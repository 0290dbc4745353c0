import { cut } from "../../../core/text.ts";
import { oneLine } from "../../printable-text.ts";
import type { Redact } from "../redaction.ts";
import type { EarlierTurn } from "../runner-turn.ts";
import { JOB_TRAILER, TURN_TRAILER, turnKeyOf } from "../turn-key.ts";
import { closedMarkdown, fileName, inertText, quoted } from "./inert-text.ts";

export type TurnText = {
  jobId: string;
  prompt: string;
  earlierTurns: readonly EarlierTurn[];
  summary: string | null;
  leftOut: readonly string[];
};

const MAX_TITLE_LENGTH = 72;
const MAX_LEFT_OUT = 50;
const MAX_SUMMARY_LENGTH = 12_000;
const MAX_PROMPT_LENGTH = 8000;
const MAX_EARLIER_LENGTH = 20_000;
/** Lines that programs and agents write on the way: warnings, log lines, errors. None of them says what a pull request is about. */
const ASIDE =
  /^\W*(?:\(node:\d+\)|npm (?:warn|err)|(?:[\w-]*warning|warn|error|fatal|info|debug|notice|note|caution|deprecated|deprecation)\b(?: ?\([^)]{0,40}\))?[\]:!]|\[(?:warn|error|info|debug))|^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|[\u26a0\u2757\u274c\u{1f6a8}])/iu;
const START = "<!-- docs-agent:start -->";
const END = "<!-- docs-agent:end -->";

/** One line of at most 72 characters: the start of the agent's summary, warnings and the like passed over, else of the prompt. */
export function titleOf({ summary, prompt, jobId }: TurnText, redact: Redact): string {
  for (const text of [summary ?? "", prompt]) {
    const line = redact(text)
      .split("\n")
      .filter((each) => !ASIDE.test(each))
      .map((each) =>
        inertText(each)
          .replace(/^[\s#>*\-=_`]+/, "")
          .replace(/[`*_]+$/, ""),
      )
      .map((each) => oneLine(each, MAX_TITLE_LENGTH))
      .find((each) => /[\p{L}\p{N}]/u.test(each));
    if (line !== undefined) return line;
  }
  return `Documentation changes of job ${jobId}`;
}

/** The pull request's text: summary, the requests quoted, what was left out, the job. Everything foreign is inert and redacted. */
export function bodyOf(turn: TurnText, redact: Redact): string {
  const sections = [
    turn.summary === null ? "" : closedMarkdown(cut(redact(turn.summary), MAX_SUMMARY_LENGTH)),
    `Requested:\n\n${quoted(cut(redact(turn.prompt), MAX_PROMPT_LENGTH))}`,
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
 * The commit's message. Its last lines name job and turn: by them a turn that was pushed before a crash is known again, and not
 * done twice.
 */
export function commitMessageOf(turn: TurnText, redact: Redact): string {
  const summary = turn.summary === null ? "" : `${inertText(cut(redact(turn.summary), 2000))}\n\n`;
  return `${titleOf(turn, redact)}\n\n${summary}${JOB_TRAILER}: ${turn.jobId}\n${TURN_TRAILER}: ${turnKeyOf(turn)}\n`;
}

/** Paths for a result: redacted, bounded in number and length. */
export function boundedPaths(paths: readonly string[], redact: Redact): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT).map((path) => oneLine(redact(path), 200));
  const more = paths.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

function earlierSection(turns: readonly EarlierTurn[], redact: Redact): string {
  if (turns.length === 0) return "";
  const quotes = turns.map(({ prompt }) => quoted(cut(redact(prompt), 2000))).join("\n\n");
  return `Before that:\n\n${cut(quotes, MAX_EARLIER_LENGTH)}`;
}

function leftOutSection(paths: readonly string[], redact: Redact): string {
  if (paths.length === 0) return "";
  const lines = boundedPaths(paths, redact).map((path) =>
    path.startsWith("… and") ? `- ${path}` : `- ${fileName(path)}`,
  );
  return `Not included (outside this project's docs):\n\n${lines.join("\n")}`;
}
