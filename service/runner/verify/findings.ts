import { SHOWN_CHARS } from "../../../src/core/ports/reading.ts";
import { endOf, printableText, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";

/** A tool's output, and whether it exited with 0. */
export type ToolOutput = { text: string; isClean: boolean };

/** A number that says how many problems there are. It changes when one appears or disappears. */
const PROBLEM_COUNT =
  /\b(\d+)(?= (?:\w+ )?(?:errors?|warnings?|problems?|suggestions?|issues?|findings?|links?)\b(?!:))/g;
/** A number that says how much a tool has checked. */
const LOOKED_AT = /\b\d+(?=(?: \w+)? (?:files?|pages?|documents?)\b)/g;
/** The parts of a line that differ between two runs, or when lines above have moved. */
const VARYING: readonly RegExp[] = [
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?/g,
  /^\s*\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?/g,
  /\b\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|secs?|seconds?|min|minutes?)\b|\b\d+\.\d+m\b/g,
  /[([]\d+[:,] ?\d+(?:-\d+[:,]\d+)?[)\]]/g,
  /(?:^\s*|:|\s)\d+:\d+(?:-\d+(?::\d+)?)?(?=[\s:,]|$)/g,
  /(?<=\S):\d+(?=[\s:,]|$)/g,
  /\b(?:on |at )?(?:lines?|ln|columns?|col)\b\.?[ :=]*\d+(?:-\d+)?,?/gi,
];

/** Where an error occurred in a tool's own code. */
const STACK_FRAME =
  /^\s*at .*:\d+:\d+\)?(?: \{)?$|^\s*at async Promise\.all|^\s*\.{3} \d+ lines matching cause stack trace/;
/** Progress lines, as site builders mark them. */
const NO_PROBLEM = /^\s*(?:\[(?:info|success)\]|info\s+-\s|node version: v[\d.]+$)/i;

/**
 * A line without its position and durations, so that it stays the same in another run, and when
 * lines above it appear or disappear.
 */
function withoutVarying(line: string): string {
  return VARYING.reduce((rest, pattern) => rest.replace(pattern, ""), line)
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * The lines of `result` that aren't in `base`, each as often as it is new, without colors,
 * positions and durations. Empty if the result is clean.
 */
export function newFindings(base: ToolOutput, result: ToolOutput): string[] {
  if (result.isClean) return [];
  const found = linesOf(result.text);
  // A line that a tool also prints when nothing is wrong isn't a finding.
  const known = linesOf(base.text);
  const left = new Map<string, number>();
  for (const line of known) left.set(keyOf(line), (left.get(keyOf(line)) ?? 0) + 1);
  const fresh = found.filter((line) => {
    const times = left.get(keyOf(line)) ?? 0;
    left.set(keyOf(line), times - 1);
    return times <= 0;
  });
  const problems = fresh.filter((line) => !isSummary(line));
  if (problems.length > 0) return problems;
  // A tool may only say how many problems there are.
  const isWorse = problemCount(found) > problemCount(known);
  return base.isClean || isWorse ? found : [];
}

function linesOf(text: string): string[] {
  return printableText(text.replaceAll("\r", "\n"))
    .split("\n")
    .filter((line) => !STACK_FRAME.test(line) && !NO_PROBLEM.test(line))
    .map(withoutVarying)
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
}

function keyOf(line: string): string {
  return line.replace(PROBLEM_COUNT, "#").replace(LOOKED_AT, "#");
}

/** True if a line only says how much was checked and found. */
function isSummary(line: string): boolean {
  return keyOf(line) !== line && line.length <= 120 && !/[/\\]|\.\w{2,4}\b/.test(line);
}

function problemCount(lines: readonly string[]): number {
  const counts = lines.filter(isSummary).flatMap((line) => [...line.matchAll(PROBLEM_COUNT)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The most lines that are kept of what {@link newFindings} finds. */
const MAX_LINES = 1000;

/** {@link newFindings}, bounded and redacted, and how many there are. */
export function shownFindings({ base, result }: { base: ToolOutput; result: ToolOutput }, redact: Redact) {
  const lines = newFindings(base, result);
  // Redacted before it is cut, because half a secret is a secret, too.
  const shown = lines.slice(0, MAX_LINES).map((line) => redactedLine(redact, line, SHOWN_CHARS.line));
  return { lines: shown, count: lines.length };
}

const MAX_LAST_WORDS_LENGTH = 500;

/** The end of an output that says nothing about a commit, for the operator. Redacted. */
export function lastWords(text: string, redact: Redact): string {
  return endOf(redactedLine(redact, text, Infinity), MAX_LAST_WORDS_LENGTH);
}
