import type { DocPage, Stretch } from "../page.ts";
import { anyOf, eachLine, lineTextAt, type Trace, keyOfText, type Rule, shown } from "../rule.ts";

const CONFLICT = /^(?:<{7}|>{7}|\|{7})(?: \S.*)?$/;
const BETWEEN = /^={7}$/;
/** Pages about version control show such marks in samples. */
const IS_ABOUT_CONFLICTS = /\b(?:conflicts?|merg(?:e|ing)|rebas(?:e|ing))\b/i;

/** Marks of a merge conflict. A whole conflict in a closed sample is meant to be shown. */
export const conflictMarkers: Rule = (page, before) => {
  const lines = eachLine(page);
  const marks = lines.filter(({ line }) => CONFLICT.test(line));
  if (marks.length === 0) return lonelyBetween(page);
  const samples = conflictSamples(page, before);
  const isAbout = IS_ABOUT_CONFLICTS.test(page.prose);
  const isMeant = ({ at }: { at: number }) =>
    (isAbout && page.prose[at] === " ") || samples.some(({ from, to }) => from <= at && at < to);
  const meant = marks.filter((mark) => !isMeant(mark));
  if (meant.length === 0) return [];
  const between = lines.filter((line) => BETWEEN.test(line.line) && !isMeant(line));
  return [...meant, ...between].map(({ line, at }) => ({
    at,
    key: line,
    says: `This line is a mark of a merge conflict: ${shown(line)}.`,
  }));
};

/** The middle mark of a conflict whose other marks are gone. Under a text it makes a heading. */
function lonelyBetween(page: DocPage): Trace[] {
  return page.blocks.flatMap(({ kind, from, to }): Trace[] => {
    const line = page.text.slice(from, to);
    if (page.parts.length === 0 || kind !== "paragraph" || !BETWEEN.test(line.trim())) return [];
    return [{ at: from, key: line, says: `This line is a mark of a merge conflict: ${shown(line)}.` }];
  });
}

/** Closed fences with whole conflicts, except where one side is a sample that was there before. */
function conflictSamples(page: DocPage, before: DocPage | null): Stretch[] {
  const had = new Set(before?.blocks.map(({ from, to }) => keyOfText(before.text.slice(from, to))));
  return page.blocks.filter(({ kind, from, to }) => {
    const all = page.text.slice(from, to).split(/\r?\n/);
    if (kind !== "code" || !/^\s*(?:`{3,}|~{3,})\s*$/.test(all.length > 1 ? (all.at(-1) ?? "") : ""))
      return false;
    const marks = all.filter((line) => CONFLICT.test(line) || BETWEEN.test(line));
    if (!/^(?:<\|?=>)+$/.test(marks.map((line) => line[0]).join(""))) return false;
    return !["ours", "theirs"].some((side) => had.has(keyOfText(sideOf(all, side).join("\n"))));
  });
}

/** The lines of a sample as one side of a conflict has them. */
function sideOf(lines: readonly string[], side: string): string[] {
  let within = "both";
  return lines.filter((line) => {
    if (!CONFLICT.test(line) && !BETWEEN.test(line)) return within === "both" || within === side;
    within = line[0] === "<" ? "ours" : line[0] === "|" ? "base" : line[0] === "=" ? "theirs" : "both";
    return false;
  });
}

const TAGS = anyOf(
  "file, file_?content, new_string, old_string, new_str, old_str, parameter, function_calls, invoke, " +
    String.raw`tool_call, tool_result, thinking, antml:\w+`,
);
const TOOL_LINES: readonly RegExp[] = [
  /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/,
  /^diff --git a\/\S+ b\/\S+/,
  /^\*\*\* (?:Begin|End) Patch\b/,
  /^\*\*\* (?:Update|Add|Delete) File: \S/,
  /^(?:<{5,9} SEARCH|>{5,9} REPLACE)\b/,
  new RegExp(String.raw`^</?${TAGS}\b[^<>]*>\s*$`),
  /^<\|\w{1,40}\|>\s*$/,
];
/** Line ends as a program writes them in quotes. Paths of Windows have letters after them. */
const ESCAPED = /\\n\\n|[.:;!?]\\n(?![A-Za-z])/g;
const NUMBERED = /^\s{0,6}(\d{1,5})(?:→|\t|\s?[|:]\s?)/;
const MIN_NUMBERED = 3;

/** What tools that edit or show files leave behind: marks of patches, numbers before lines. */
export const toolMarks: Rule = (page) => {
  const found: Trace[] = [];
  let run: { at: number; from: number; count: number } | null = null;
  // A number and a tab before each line can make it a sample, without a fence.
  const fenced = page.parts.filter(({ type }) => type === "codeFenced");
  for (const { line: said, at } of eachLine(page, page.prose)) {
    const whole = lineTextAt(page, at);
    const isIndented =
      said.trim() === "" && /^\s/.test(whole) && !fenced.some(({ from, to }) => from <= at && at < to);
    const line = isIndented ? whole : said;
    if (TOOL_LINES.some((pattern) => pattern.test(line))) {
      found.push({ at, key: line, says: `This line is a mark of an editing tool: ${shown(line)}.` });
    }
    const number = Number(NUMBERED.exec(line)?.[1] ?? NaN);
    const isNext: boolean = run !== null && number === run.from + run.count;
    if (isNext && run !== null) run.count += 1;
    else run = Number.isNaN(number) ? null : { at, from: number, count: 1 };
    if (run?.count !== MIN_NUMBERED) continue;
    found.push({
      at: run.at,
      key: keyOfText(line),
      says: "These lines begin with their numbers, as a tool shows them.",
    });
  }
  for (const { index } of page.parts.length === 0 ? [] : page.plain.matchAll(ESCAPED)) {
    const line = lineTextAt(page, index);
    const key = keyOfText(line);
    // A line says it once.
    if (found.at(-1)?.key === key) continue;
    found.push({ at: index, key, says: `"\\n" stands as text in ${shown(line)}.` });
  }
  return found;
};
