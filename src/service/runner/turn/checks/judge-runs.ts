import type { ProjectCheck } from "../../../../shared/contract/checks.ts";
import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { endOf, redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import type { HowItShows } from "../../../config/check-presets.ts";
import {
  isSummary,
  outputLines,
  type OutputLine,
  problemCount,
  rawLines,
  steadyLines,
  type ToolOutput,
} from "./output-lines.ts";
import { createRename } from "./moved-pages.ts";
import { beyond, mostOf, variationOf, wordsOfPaths } from "./varying-lines.ts";

/** A tool's runs on both sides of a change. */
export type CheckRuns = {
  /** On the base, at least one. */
  base: readonly ToolOutput[];
  result: ToolOutput;
  how: HowItShows;
  /** The change's paths, and the old and new names of pages that it moved. */
  paths: readonly string[];
  moved: readonly (readonly [from: string, to: string])[];
};

/**
 * A check's result. `lines` are what is new, or the reason. Bounded and redacted, `count` says how
 * many there are. `wantsAnotherRun` is true if one more run on the base may explain them. `details`
 * are for the operator.
 */
export type Judged = {
  result: ProjectCheck["result"];
  lines: string[];
  count: number;
  wantsAnotherRun: boolean;
  details: string;
};

/** The most lines that are kept of what is new. */
const MAX_LINES = 1000;
const MAX_LAST_WORDS_LENGTH = 500;
/** Of runs on the base that are compared. */
const MAX_RUNS = 4;

/** Decides what runs on both sides of a change say about it. */
export function judgeRuns(runs: CheckRuns, redact: Redact): Judged {
  const { base, result, how } = runs;
  const first = base[0] ?? result;
  const says = (why: string, { text } = result) =>
    [why, firstWords(text, how, redact)].filter(Boolean).join(" It says: ");
  const judged = (kind: Judged["result"], lines: string[], wantsAnotherRun = false): Judged => ({
    result: kind,
    // Redacted before it is cut, because half a secret is a secret, too.
    lines: lines.slice(0, MAX_LINES).map((line) => redactedLine(redact, line, SHOWN_CHARS.line)),
    count: lines.length,
    wantsAnotherRun,
    details: kind === "not-checked" ? lastWords(result.text, redact) : "",
  });
  const notChecked = (why: string) => judged("not-checked", [why]);

  const [ranBefore, ranAfter] = [showsThatItRan(first, how), showsThatItRan(result, how)];
  if (how.isPreset) {
    if (!ranBefore && !ranAfter)
      return notChecked(says("Nothing shows that it ran, with the change or without."));
    if (!ranBefore) return notChecked(says("Nothing shows that it ran before the change.", first));
    if (!ranAfter && !isFindingsCode(result, how))
      return notChecked(says("With the change, nothing shows that it ran."));
  }
  if (result.code === 0) return judged("passed", []);
  const { fresh, isTooMuch, isNear } = newFindings(runs);
  const isClean = base.every(({ code }) => code === 0);
  if (fresh.length > 0 || isClean) {
    const mayVary = base.length === 1 || (isNear && base.length < MAX_RUNS);
    if (isTooMuch) return notChecked("What it says differs from run to run, also without the change.");
    return judged("failed", fresh.length > 0 ? fresh : ["It failed and didn't say why."], mayVary);
  }
  if (how.isPreset && !ranAfter) return notChecked(says("With the change, nothing shows that it ran."));
  if (result.text.trim() === "") {
    return notChecked("It fails without saying why, and already did before the change.");
  }
  if (ranBefore && ranAfter) return judged("passed", []);
  if (isBroken(result.text)) return notChecked(says("It fails in the same way before the change."));
  if (!saysTheSame(runs)) {
    return notChecked("It fails before the change, too, and what it says differs from run to run.");
  }
  return judged("unchanged", []);
}

/** What a single run says, for whoever sets a check up. */
export type Shown = { hasRun: boolean; isBroken: boolean; count: number; words: string[] };

const MAX_FIRST_LINES = 3;

/** What a tool says first, whether it shows that it ran, and how many lines it finds. Redacted. */
export function showRun({ output, how }: { output: ToolOutput; how: HowItShows }, redact: Redact): Shown {
  const lines = outputLines(output.text, isProofOf(how)).filter((line) => !line.isAside && !isSummary(line));
  const said = rawLines(output.text).filter((line) => /[\p{L}\p{N}]/u.test(line));
  const shown = (lines.length > 0 ? lines.map(({ text }) => text) : said).slice(0, MAX_FIRST_LINES);
  return {
    hasRun: showsThatItRan(output, how),
    isBroken: isBroken(output.text),
    count: output.code === 0 ? 0 : lines.length,
    words: shown.map((line) => redactedLine(redact, line, WORDS_CHARS)),
  };
}

/** The end of an output that says nothing about a commit, for the operator. Redacted. */
export function lastWords(text: string, redact: Redact): string {
  return endOf(redactedLine(redact, text, Infinity), MAX_LAST_WORDS_LENGTH);
}

function isFindingsCode({ code }: ToolOutput, { proof, findingsAt }: HowItShows): boolean {
  return code === 0 || findingsAt.includes(code) || proof?.findingsAt.includes(code) === true;
}

/** True if a tool certainly looked at the pages. */
function showsThatItRan(output: ToolOutput, how: HowItShows): boolean {
  const { proof, isPreset, findingsAt } = how;
  if (!isFindingsCode(output, how)) return false;
  if (proof === null) return !(findingsAt.includes(output.code) && isBroken(output.text));
  const lines = rawLines(output.text);
  const has = (source: string) => {
    const pattern = new RegExp(source);
    return lines.some((line) => pattern.test(line));
  };
  if (has(proof.closing)) return true;
  if (isPreset && proof.isAlwaysClosed) return false;
  if (output.code === 0) return true;
  return (findingsAt.includes(output.code) && !isBroken(output.text)) || has(proof.finding);
}

function isProofOf({ proof }: HowItShows): (line: string) => boolean {
  if (proof === null) return () => false;
  const patterns = [proof.closing, proof.chatter].flatMap((each) =>
    each === undefined ? [] : new RegExp(each),
  );
  return (line) => patterns.some((pattern) => pattern.test(line));
}

/** How programs say that they, or parts of them, aren't there. */
const BROKEN = new RegExp(
  String.raw`^\s*(?:[\w.[\]-]+:? +){0,5}(?:cannot find (?:module|package)|err_module_not_found|` +
    String.raw`(?:modulenotfound|import|syntax)error\b|no module named|command not found|` +
    String.raw`could not import extension|extension error\b|cannot load such file|segmentation fault|` +
    String.raw`error while loading shared libraries|unable to access jarfile)|` +
    String.raw`\b(?:can't|could not) find gem\b|` +
    String.raw`\b(?:plugin|module|package|extension|theme)\b.{0,100} (?:is|are) not (?:installed|found)\b`,
  "i",
);
const BROKEN_CHARS = 400;

function isBroken(text: string): boolean {
  return rawLines(text).some((line) => BROKEN.test(line.slice(0, BROKEN_CHARS)));
}

const WORDS_CHARS = 160;
const TELLING = /error|cannot|can't|not found|no module|missing|not installed|unknown|invalid|fail/i;

/** The line that says most about why a tool couldn't run. Empty if there is none. */
function firstWords(text: string, how: HowItShows, redact: Redact): string {
  const lines = outputLines(text, isProofOf(how)).filter(({ isAside }) => !isAside);
  const line = lines.find((each) => TELLING.test(each.text)) ?? lines[0];
  return line === undefined ? "" : redactedLine(redact, line.text, WORDS_CHARS);
}

type NewFindings = { fresh: string[]; isTooMuch: boolean; isNear: boolean };

/**
 * The lines of `result` that no run on the base has, each as often as it is new. What a tool also
 * says when nothing is wrong isn't a finding.
 */
function newFindings({ base, result, how, paths, moved }: CheckRuns): NewFindings {
  const isProof = isProofOf(how);
  const found = outputLines(result.text, isProof);
  const before = base.map(({ text }) => outputLines(text, isProof));
  const keys = before.map((lines) => lines.map(({ key }) => key));
  const changed = wordsOfPaths(paths);
  const { masked, isTooMuch, isNear } = variationOf(keys, changed);
  const rename = createRename(moved);
  const known = keys.map((run) =>
    run.flatMap((key) => [...new Set([key, ...rename(key)])].map((each) => masked(each))),
  );
  const fresh = beyond(found, mostOf(known), ({ key }) => masked(key));
  const answer = (lines: readonly OutputLine[]): NewFindings => ({
    fresh: lines.map(({ text }) => text),
    isTooMuch: isTooMuch && lines.length > 0,
    isNear: lines.every(({ key }) => isNear(key)),
  });
  const isProblem = (line: OutputLine) => !isSummary(line);
  const problems = fresh.filter((line) => isProblem(line) && !line.isAside);
  if (problems.length > 0) return answer(problems);
  const isClean = base.every(({ code }) => code === 0);
  // A tool may only say how many problems there are.
  const isWorse = problemCount(found) > Math.max(...before.map(problemCount));
  if (isClean || isWorse || base.every(({ code }) => result.code > code)) {
    // Nothing else explains the exit code.
    const asides = fresh.filter(isProblem);
    if (asides.length > 0) return answer(asides);
    if (isClean || isWorse) return answer(found.filter(({ isAside }) => !isAside));
  }
  return answer([]);
}

/** True if a tool says nothing that it doesn't say on the base in the same order. */
function saysTheSame({ base, result, moved }: CheckRuns): boolean {
  const rename = createRename(moved);
  const lines = steadyLines(result.text);
  return base.some(({ text }) => {
    let at = 0;
    for (const line of steadyLines(text))
      if (line === lines[at] || rename(line).includes(lines[at] ?? "")) at += 1;
    return at >= lines.length;
  });
}
