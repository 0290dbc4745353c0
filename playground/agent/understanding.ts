import { posix } from "node:path";
import type { Replacement } from "./replacement.ts";

/** A prompt, as far as the agent understands it. */
export type Understanding = {
  isSpelling: boolean;
  isLinks: boolean;
  replacements: Replacement[];
  /** The part of a quoted message that should be put on the page word for word, or null. */
  addition: string | null;
  /** The pages that were named. Empty means all pages. */
  pages: string[];
  /** A page that was named and doesn't exist. */
  missingPage: string | null;
  /** Targets of links that the project's checks found broken, or null if no check has run yet. */
  brokenLinks: readonly string[] | null;
  /** What was asked for before a check found something, or null if no check has run yet. */
  asked: Understanding | null;
};

const CHECKED = "\n\nThe project's checks found problems";
const BROKEN_LINK = /: broken link to (\S+)$/gm;

const QUOTED_FROM = /^The rest of this prompt is quoted material\b.*$/m;
const NEGATION = new RegExp(
  [
    String.raw`\b(?:do not|don['’]?t|does not|doesn['’]?t|never|not|without|avoid|stop`,
    String.raw`|instead of|rather than)\b[^.!?;\n]*$`,
  ].join(""),
  "i",
);

const SPELLING = /\b(?:typos?|mis-?spell\w*|miss?pell\w*|spelling|spell(?:ed|t)|spell-?check\w*)\b/gi;
const LINKS = new RegExp(
  [
    String.raw`\b(?:broken|dead|wrong|bad|outdated|404)\s+(?:\w+\s+){0,2}links?\b`,
    String.raw`\b(?:fix|repair|correct|mend|check|resolve)\w*\s+(?:\w+\s+){0,4}links?\b`,
    String.raw`\blinks?\b[^.!?\n]{0,40}\b(?:broken|dead|wrong|404|nowhere)\b`,
  ].join("|"),
  "gi",
);
const ADD = /\badd\s+(?:this|that|it|these)\b/gi;
const FIX = /\b(?:fix|correct|repair|proofread|clean up|tidy(?: up)?)\b/gi;
const FIX_OBJECT = new RegExp(
  [
    String.raw`^\W*(?:(?:the|these|this|all|any|our|obvious|small|up)\s+)*`,
    String.raw`(?:docs?|documentation|mistakes?|errors?|problems?|issues?|pages?`,
    String.raw`|it|them|this|that|what\b.*)?`,
    String.raw`\s*(?:please)?\W*$`,
  ].join(""),
  "i",
);

/** Matches "And the FAQ, too." */
const ALSO = /^\W*(?:and|also|plus)\b|\b(?:too|also|as well)\W*$/i;

/** Splits a prompt into its instructions and the context that is quoted after them. */
export function splitPrompt(prompt: string): { instructions: string; quoted: string } {
  const found = QUOTED_FROM.exec(prompt);
  if (!found) return { instructions: prompt, quoted: "" };
  return { instructions: prompt.slice(0, found.index), quoted: prompt.slice(found.index + found[0].length) };
}

/** Reads what a prompt asks of this agent. `pages` are all pages there are: relative, with "/". */
export function understand(prompt: string, pages: readonly string[]): Understanding {
  const at = prompt.indexOf(CHECKED);
  if (at >= 0) return understandFindings(prompt.slice(at), pages, understand(prompt.slice(0, at), pages));
  const { instructions, quoted } = splitPrompt(prompt);
  const { replacements, rest } = readReplacements(instructions);
  const hasSpelling = says(rest, SPELLING);
  const hasLinks = says(rest, LINKS);
  const addition = says(rest, ADD) ? quotedText(quoted) : null;
  const named = namedPages(rest, pages);
  // "Fix this" and "fix the quickstart" say no more, so they mean everything that is visibly wrong.
  const isGeneral =
    addition === null &&
    !hasSpelling &&
    !hasLinks &&
    replacements.length === 0 &&
    isGeneralFix(rest, named, quoted !== "");
  const missingPage = named.length === 0 ? missingPageOf(rest) : null;
  return {
    isSpelling: hasSpelling || isGeneral,
    isLinks: hasLinks || isGeneral,
    replacements,
    addition,
    pages: named.length > 0 || missingPage !== null ? named : namedPages(quoted, pages),
    missingPage,
    brokenLinks: null,
    asked: null,
  };
}

/** True if there is something to do. */
export function isAnything({ isSpelling, isLinks, replacements, addition }: Understanding): boolean {
  return isSpelling || isLinks || replacements.length > 0 || addition !== null;
}

/** Reads the findings of the project's checks. Everything that was asked for is done by now. */
function understandFindings(findings: string, pages: readonly string[], asked: Understanding): Understanding {
  return {
    isSpelling: false,
    isLinks: true,
    replacements: [],
    addition: null,
    pages: pages.filter((page) => findings.includes(`- ${page}:`)),
    missingPage: null,
    brokenLinks: [...findings.matchAll(BROKEN_LINK)].flatMap(([, target]) => target ?? []),
    asked,
  };
}

/** Returns the text of the quoted messages, or null. */
function quotedText(quoted: string): string | null {
  const lines = quoted.split("\n").flatMap((line) => (line.startsWith("> ") ? [line.slice(2)] : []));
  return lines.join("\n").trim() || null;
}

/** True if the pattern matches, and the words before it in its sentence don't include "not". */
function says(text: string, pattern: RegExp): boolean {
  return [...text.matchAll(pattern)].some(({ index }) => !NEGATION.test(text.slice(0, index)));
}

const OPEN = `["“„'‘\`]`;
const CLOSED = [
  String.raw`"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|'([^'\n]+)'|‘([^’\n]+)’`,
  "`([^`\\n]+)`",
].join("|");
const KIND = [
  String.raw`(?:(?:all|every|each|any)\s+)?(?:(?:occurrences?|instances?|mentions?)\s+of\s+)?(?:the\s+)?`,
  String.raw`(?:(?:word|words|name|names|phrase|term|text|command|product name|product)\s+)?`,
].join("");
const UNTIL = [
  String.raw`(?=\s*(?:[,;!?\n]|\.(?:\s|$)|$`,
  String.raw`\s(?:and|then|but)\s+(?:also\s+)?(?:replace|rename|change|fix|correct|repair)\b`,
  String.raw`\s(?:everywhere|throughout|please|wherever)\b`,
  String.raw`\s(?:in|on|across|inside|within)\s+(?:the|all|our|every|this|that|these|\S+\.mdx?|\S+\/)))`,
].join("|");
const REPLACEMENT = new RegExp(
  [
    `\\b(replace|rename|change)\\s+${KIND}(?:${CLOSED}|([^\\s"“„'‘\`][^\\n]{0,80}?))\\s+`,
    `(with|by|to|into)\\s+(?:${CLOSED}|((?!${OPEN})[^\\n]{1,80}?)${UNTIL})`,
  ].join(""),
  "giu",
);
/** Matches the beginning of words about the text to add. They aren't that text. */
const ABOUT = new RegExp(
  [
    String.raw`^(?:the|a|an|this|that|these|those|it|its|them|they|all|any|every\w*|some\w*|any\w*|no\w*|how`,
    String.raw`what|where|when|who|why|our|your|my|be|use|using|say|make|match|look|show|mention|reflect`,
    String.raw`include|explain)\b`,
  ].join("|"),
  "i",
);

/**
 * Reads the replacements that instructions ask for, and returns the rest of the instructions beside
 * them.
 */
function readReplacements(instructions: string): { replacements: Replacement[]; rest: string } {
  const replacements: Replacement[] = [];
  const rest = instructions.replaceAll(REPLACEMENT, (...args: unknown[]) => {
    const match = args.slice(0, 17).map((part) => (typeof part === "string" ? part : undefined));
    const index = args.find((part) => typeof part === "number") ?? 0;
    const [whole = "", verb = "", ...parts] = match;
    const quotedFrom = parts.slice(0, 6).find((part) => part !== undefined);
    const plainFrom = parts[6]?.trim();
    const word = (parts[7] ?? "").toLowerCase();
    const quotedTo = parts.slice(8, 14).find((part) => part !== undefined);
    const plainTo = parts[14]?.trim();
    const from = quotedFrom ?? plainFrom ?? "";
    const to = quotedTo ?? plainTo ?? "";
    const fits = (word === "with" || word === "by") === (verb.toLowerCase() === "replace");
    const isLiteral =
      (quotedFrom !== undefined || !isAbout(from)) && (quotedTo !== undefined || !isAbout(to)) && from !== to;
    if (!fits || !isLiteral || NEGATION.test(instructions.slice(0, Number(index)))) return whole;
    replacements.push({ from, to });
    return " ";
  });
  return { replacements, rest };
}

function isAbout(text: string): boolean {
  return text === "" || ABOUT.test(text) || text.split(/\s+/).length > 8;
}

function isGeneralFix(text: string, named: readonly string[], hasQuote: boolean): boolean {
  if (named.length > 0 && ALSO.test(text.trim()) && !NEGATION.test(text.trim())) return true;
  return [...text.matchAll(FIX)].some(({ index, 0: verb }) => {
    if (NEGATION.test(text.slice(0, index))) return false;
    if (hasQuote || named.length > 0) return true;
    const object = text.slice(index + verb.length).split(/[.!?\n]/)[0] ?? "";
    return FIX_OBJECT.test(object);
  });
}

/**
 * Finds the pages that a text names: by path, by file name, or as in "the quickstart" and "install
 * page".
 */
export function namedPages(text: string, pages: readonly string[]): string[] {
  // The target of a link isn't the page that has the link.
  const places = text.replaceAll(/\blinks?\s+to\s+(?:the\s+)?[\w./-]+(?:\s[\w-]+)?/gi, " ");
  const lower = places.toLowerCase();
  const paths = pages.filter((page) => standsIn(lower, page.toLowerCase()));
  if (paths.length > 0) return highest(paths);
  const files = pages.filter((page) => standsIn(lower, posix.basename(page).toLowerCase()));
  if (files.length > 0) return highest(files);
  return highest(pages.filter((page) => isCalled(page, places)));
}

/** Chooses the "README.md" at the top if there are others further down. */
function highest(pages: string[]): string[] {
  const depth = (page: string) => page.split("/").length;
  return pages.filter(
    (page) =>
      !pages.some((other) => posix.basename(other) === posix.basename(page) && depth(other) < depth(page)),
  );
}

function isCalled(page: string, text: string): boolean {
  const words = wordsOf(page);
  if (words === null) return false;
  const folder = escapeForPattern(posix.basename(posix.dirname(page)));
  const name = `(?:${folder}\\s+)?${words.map(escapeForPattern).join("[\\s_-]*")}`;
  return new RegExp(
    `\\b(?:in|on|of|from|for|at|fix|correct|repair|proofread)\\s+(?:the\\s+|our\\s+)?${name}\\b|` +
      `\\bthe\\s+${name}\\b|\\b${name}\\s+(?:page|guide|docs?|article|file|section|reference)\\b`,
    "i",
  ).test(text);
}

/** Returns the words that people use for a page: its file's name, or its folder's for an index. */
function wordsOf(page: string): string[] | null {
  const stem = posix.basename(page, posix.extname(page));
  const name = /^index$/i.test(stem) ? posix.basename(posix.dirname(page)) : stem;
  const words = name
    .toLowerCase()
    .split(/[\s_-]+/)
    .filter((word) => word !== "" && word !== ".");
  // People also write "quick start".
  const split = words.flatMap((word) => (word === "quickstart" ? ["quick", "start"] : [word]));
  return split.length === 0 || split.join("").length < 3 ? null : split;
}

function missingPageOf(text: string): string | null {
  const path = /(?:^|\s)((?:[\w.-]+\/)*[\w.-]+\.mdx?)\b/i.exec(text)?.[1];
  if (path !== undefined) return path;
  const asked = /\b(?:in|on)\s+(?:the\s+)?([\w][\w-]*(?:\s[\w-]+)?)\s+(?:page|guide)\b/i.exec(text)?.[1];
  const isNoName =
    asked === undefined ||
    /^(?:this|that|these|every|each|all|any|docs?|whole|same|right|first)\b/i.test(asked);
  return isNoName ? null : asked;
}

function standsIn(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w./-])(?:\\./)?${escapeForPattern(name)}(?![\\w/-])`).test(text);
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
