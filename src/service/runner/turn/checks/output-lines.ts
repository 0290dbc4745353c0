import { anyEnding, PAGE_ENDINGS } from "../../../base/page-endings.ts";
import { printableText } from "../../../base/printable-text.ts";

/** A tool's output, and its exit code. */
export type ToolOutput = { text: string; code: number };

/**
 * A line of a tool's output as it is shown, and its `key`, which is the same in another run.
 * `isAside` tells how a tool is getting on, or where in its own code an error occurred.
 */
export type OutputLine = { text: string; key: string; isAside: boolean };

/** A number that says how many problems there are. It changes when one appears or disappears. */
const PROBLEM_COUNT =
  /\b(\d+)(?= (?:\w+ )?(?:errors?|warnings?|problems?|suggestions?|issues?|findings?|links?)\b(?!:))/g;
/** A number that says how much a tool has checked. */
const LOOKED_AT = /\b\d+(?=(?: \w+)? (?:files?|pages?|documents?)\b)/g;
/** The parts of a line that differ between two runs. */
const TIMES: readonly RegExp[] = [
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?/g,
  /^\s*\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?/g,
  /\b\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|secs?|seconds?|min|minutes?)\b|\b\d+\.\d+m\b/g,
];
/** The parts of a line that differ when lines above have moved. */
const POSITIONS: readonly RegExp[] = [
  /[([]\d+[:,] ?\d+(?:-\d+[:,]\d+)?[)\]]/g,
  /(?:^\s*|:|\s)\d+:\d+(?:-\d+(?::\d+)?)?(?=[\s:,]|$)/g,
  /(?<=\S):\d+(?=[\s:,]|$)/g,
  /\b(?:on |at )?(?:lines?|ln|columns?|col)\b\.?[ :=]*\d+(?:-\d+)?,?/gi,
];

/** Where an error occurred in code, with the file. */
const STACK_FRAME = /^\s*at (?:.*\()?(?<file>[^()]*?):\d+:\d+\)?(?: \{)?$/;
const OTHER_FRAME = /^\s*at async Promise\.all|^\s*\.{3} \d+ lines matching cause stack trace/;
/** Tools name settings and navigation as the places of faults, too. */
const PAGE = anyEnding([
  ...PAGE_ENDINGS,
  "rmd",
  "txt",
  "asc",
  "html?",
  "ipynb",
  "org",
  "json",
  "ya?ml",
  "toml",
]);
/** Progress lines, as site builders mark them. */
const PROGRESS = /^\s*(?:\[(?:info|success)\]|info\s+-\s|node version: v[\d.]+$)/i;

/**
 * The lines of an output, without colors, positions and durations. `isProof` lines, by which a tool
 * shows that it ran, aren't among them.
 */
export function outputLines(text: string, isProof: (line: string) => boolean = () => false): OutputLine[] {
  return rawLines(text).flatMap((raw) => {
    if (isProof(raw)) return [];
    const line = without(raw, [...TIMES, ...POSITIONS]);
    const isAside = PROGRESS.test(raw) || isFrame(raw);
    return hasWords(line) ? [{ text: line, key: keyOf(line), isAside }] : [];
  });
}

/** What stays the same if a tool says the same again: its lines without positions and counts. */
export function steadyLines(text: string): string[] {
  return rawLines(text)
    .map((line) => keyOf(without(line, POSITIONS)))
    .filter(hasWords);
}

/** The lines of an output, without colors. */
export function rawLines(text: string): string[] {
  return printableText(text.replaceAll("\r", "\n")).split("\n");
}

/** True if a line only says how much was checked and found. */
export function isSummary({ text, key }: OutputLine): boolean {
  return key !== text && text.length <= 120 && !/[/\\]|\.\w{2,4}\b/.test(text);
}

/** The problems that the summaries among these lines count. */
export function problemCount(lines: readonly OutputLine[]): number {
  const counts = lines.filter(isSummary).flatMap(({ text }) => [...text.matchAll(PROBLEM_COUNT)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** True for a place in code. A page of the tree is a place that a tool tells of. */
function isFrame(line: string): boolean {
  if (OTHER_FRAME.test(line)) return true;
  const file = STACK_FRAME.exec(line)?.groups?.["file"];
  if (file === undefined) return false;
  const path = file.replace(/^async /, "").replace(/^file:\/\//, "");
  const isInTree = !/^(?:\/|[a-z][a-z0-9+.-]+:)|(?:^|\/)node_modules\//i.test(path);
  return !(isInTree && PAGE.test(path));
}

function without(line: string, patterns: readonly RegExp[]): string {
  return patterns
    .reduce((rest, pattern) => rest.replace(pattern, ""), line)
    .replace(/\s+/g, " ")
    .trim();
}

function keyOf(line: string): string {
  return line.replace(PROBLEM_COUNT, "#").replace(LOOKED_AT, "#");
}

function hasWords(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line);
}
