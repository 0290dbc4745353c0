import { anyOf, eachLine, lineTextAt, type Trace, keyOfText, type Rule, shown } from "../rule.ts";

const CONFLICT = /^(?:<{7}|>{7}|\|{7})(?: \S.*)?$/;
const BETWEEN = /^={7}$/;
/** Pages about version control show such marks in samples. */
const IS_ABOUT_CONFLICTS = /\b(?:conflicts?|merg(?:e|ing)|rebas(?:e|ing))\b/i;

/** Marks of a merge conflict. In a sample of a page about such conflicts, they may be meant. */
export const conflictMarkers: Rule = (page) => {
  const lines = eachLine(page);
  const marks = lines.filter(({ line }) => CONFLICT.test(line));
  const isMeant = ({ at }: { at: number }) => page.prose[at] === " " && IS_ABOUT_CONFLICTS.test(page.prose);
  const meant = marks.filter((mark) => !isMeant(mark));
  if (meant.length === 0) return [];
  const between = lines.filter(({ line }) => BETWEEN.test(line));
  return [...meant, ...between].map(({ line, at }) => ({
    at,
    key: line,
    says: `This line is a mark of a merge conflict: ${shown(line)}.`,
  }));
};

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
