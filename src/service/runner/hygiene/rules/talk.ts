import { anyOf, eachLine, isForm, type Trace, keyOfText, type Rule, shown } from "../rule.ts";
import type { DocPage } from "../page.ts";

const PART = anyOf(
  "page, file, document, documentation, docs, doc, version, section, text, content, markdown, paragraph, " +
    "table, code",
);
/** What an agent did, in one word. */
export const DONE = anyOf(
  "updated, changed, fixed, added, revised, corrected, rewritten, edited, made, removed, replaced",
);
/** Tutorials have updated code and files, too. */
const PAGE = anyOf(
  "page, document, documentation, docs, doc, section, text, content, markdown, paragraph, table, version:?$",
);
const NEW = anyOf("updated, revised, corrected, modified, edited, rewritten, improved, fixed");
const YES = anyOf("certainly, absolutely, of course, sure, sure thing, great question, understood, got it");
const BEGINS = anyOf("here, here's, i'll, i've, i will, i have, i can, let me, below");
const OFFER = anyOf(
  "i hope this helps, hope this helps, is there anything else, feel free to ask, feel free to let me know, " +
    "let me know if you'd like, let me know if you want, let me know if you need, let me know if you have",
);
const REPORT = anyOf(
  "changes made, what i changed, summary of changes, summary of the changes, summary of changes made, " +
    "note to reviewers?, note to the reviewer, note to the user, note to the requester",
);
const ASKED = anyOf(
  "as requested, as you asked, as you requested, per your request, following your request, " +
    "per your instructions, following your instructions, per the user's request",
);
/** How assistants talk about their work, at the beginning of a paragraph or line. */
const TALK: readonly RegExp[] = [
  String.raw`^${YES}[!,.]\s+${BEGINS}\b`,
  "^(?:certainly|absolutely|of course|sure thing|great question|happy to help)!",
  String.raw`^(?:here's|here is|below is|this is) (?:the|your|an?|my) ` +
    String.raw`(?:\w+ )?${NEW} (?:\w+ ){0,3}${PAGE}(?!\w)`,
  String.raw`^as an ai\b|\bas an ai (?:language )?(?:model|assistant)\b|\bas a large language model\b`,
  "^(?:here|these|below) are (?:the |all )?(?:changes|edits|updates) (?:that )?" +
    String.raw`i(?:'ve| have)? ${DONE}\b`,
  String.raw`^note to (?:the )?reviewers?:`,
  "^(?:note: )?i (?:couldn't|could not|wasn't able to|was unable to) " +
    String.raw`(?:verify|confirm) (?:this|that|the|it)\b`,
  String.raw`^${OFFER}\b`,
  String.raw`^${ASKED}\b`,
  String.raw`:contentReference\[oaicite|\boaicite:\d|turn\d+(?:search|view|news|file)\d+\b|【\d+†|\[cite: \d`,
  String.raw`[?&]utm_source=(?:chatgpt\.com|openai)\b`,
].map((source) => new RegExp(source, "i"));
/** In news, and on pages that people sign, an author says so. */
const I_DID = new RegExp(String.raw`^i(?:'ve| have) (?:now |just |also |successfully )?${DONE}\b`, "i");
const BY_AUTHORS = /change|history|release|news|blog|posts?\b|updates|diary|about/i;
const SPEAKS = /(?<![\w"'\u201C])I(?:['\u2019](?:ve|m|ll|d)| have| am| was| will)\b/;
/** A guide to a new version may have a heading with these words. */
const REPORTS = new RegExp(String.raw`^${REPORT}:?[*_\s]*$`, "i");
/** What a line may have before its words. */
const LEAD = /^[\s>*_#-]*/;

/** Words of the agent to the requester, on the page. */
export const chatTalk: Rule = (page, before, { words }) => {
  if (isForm(page)) return [];
  const isByAuthor = BY_AUTHORS.test(page.path) || (before !== null && SPEAKS.test(before.prose));
  return wordLines(page).flatMap(({ line, at }) => {
    const said = line.replace(LEAD, "").replaceAll("\u2019", "'");
    const isTalk =
      TALK.some((pattern) => pattern.test(said)) ||
      (!isByAuthor && I_DID.test(said)) ||
      (!line.startsWith("#") && REPORTS.test(said));
    if (!isTalk || isAsked(said, words)) return [];
    return [
      {
        at,
        key: keyOfText(said),
        says: `This is said to the requester, and not to readers: ${shown(said)}.`,
      },
    ];
  });
};

function wordLines(page: DocPage): { line: string; at: number }[] {
  return eachLine(page, page.prose).filter(({ line }) => line.trim() !== "");
}

function isAsked(text: string, words: string): boolean {
  const start = keyOfText(text).slice(0, 40).toLowerCase();
  return start.length > 3 && keyOfText(words).toLowerCase().includes(start);
}

const KEPT = anyOf(
  "unchanged, omitted, remains?, remains? the same, remains? unchanged, stays? the same, stays? as it is, " +
    "stay as they are, as is, as before, continues?, continues? below, goes here, here",
);
const DOTS = String.raw`(?:\.{3}|…)`;
const LEFT_OUT = anyOf(
  "unchanged, same as before, no changes, no changes here, truncated, truncated for brevity, " +
    String.raw`omitted for brevity, \w+ unchanged, \w+ omitted`,
);
/** What stands for a part of a page that wasn't written out. */
const REST: readonly RegExp[] = [
  String.raw`\b(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?${PART}\b[^.!?\n]{0,20}\b${KEPT}\b`,
  String.raw`^\W*${DOTS}?\s*(?:the )?(?:rest|remainder) of (?:the |this )?(?:\w+ )?${PART}s?\W*$`,
  String.raw`^\W*${DOTS}?\s*(?:the )?(?:previous|existing|remaining|other|original|earlier) ` +
    String.raw`(?:\w+ )?${PART}s?(?: (?:is|are))?(?: ${KEPT})?\W*$`,
  String.raw`^\s*[[(]${DOTS}?\s*(?:the )?(?:remaining|other|existing|previous) (?:\w+ )?\w+ ` +
    String.raw`(?:stays?|remains?|is|are|as) ` +
    String.raw`(?:the same|unchanged|as before|as (?:it|they) (?:is|are))[.…]*[\])]\s*$`,
  String.raw`^\W*${DOTS}?\s*${LEFT_OUT}\s*${DOTS}?\W*$`,
].map((source) => new RegExp(source, "i"));
/** These, too, where they stand in place of what was there. */
const DOTS_ALONE = new RegExp(String.raw`^[^\p{L}\d]*${DOTS}[^\p{L}\d]*$`, "u");
const MAX_REST_CHARS = 200;
/** What begins and ends a comment. */
const COMMENT_MARKS = /^\s*(?:\/\/|#|--|<!--|\{?\/\*|;)\s*|\s*(?:-->|\*\/\}?)\s*$/g;
const MIN_LOST = 3;

/** A remark in place of what was there: "rest of the page unchanged". */
export const restUnchanged: Rule = (page, before) =>
  (isForm(page) ? [] : eachLine(page)).flatMap(({ line, at }, nth): Trace[] => {
    const words = line.length > MAX_REST_CHARS ? "" : line.replace(COMMENT_MARKS, "");
    const isRest = REST.some((pattern) => pattern.test(words));
    // Samples leave out what a reader has already. On a page, nothing may be left out.
    const isSample =
      page.prose.slice(at, at + line.length).trim() === "" && !/^\s*(?:<!--|\{\/\*)/.test(line);
    if (!isRest && (isSample || !DOTS_ALONE.test(words))) return [];
    const isMarked = /^\s*[[(<{…./#*_-]/.test(line);
    // The last line of a paragraph may be "unchanged." alone.
    if (!isSample && !isMarked && (page.lines[nth - 1] ?? "").trim() !== "") return [];
    const isRemark = isRest && !isSample && (isMarked || /unchanged/i.test(line));
    if (!isRemark && (before === null || linesLostAt(nth, page, before, isSample) < MIN_LOST)) return [];
    const says = `This stands in place of a part of the page: ${shown(line.trim())}.`;
    return [{ at, key: keyOfText(line), says }];
  });

/**
 * How many lines of the page before aren't there anymore, between what is around this line. In a
 * sample that is new, none.
 */
function linesLostAt(nth: number, page: DocPage, before: DocPage, isSample: boolean): number {
  const trimmed = ({ lines }: DocPage) => lines.map((line) => line.trim());
  const [was, is] = [trimmed(before), trimmed(page)];
  const still = new Set(is);
  const had = new Set(was);
  const isWord = (line: string) => /\w/.test(line);
  const isAround = (line: string) => isWord(line) && (isSample || had.has(line));
  const above = is.slice(0, nth).findLast(isAround);
  const below = is.slice(nth + 1).find(isAround);
  const from = above === undefined ? 0 : was.lastIndexOf(above) + 1;
  if (above !== undefined && from === 0) return 0;
  const to = below === undefined ? was.length : was.indexOf(below, from);
  return was.slice(from, Math.max(from, to)).filter((line) => isWord(line) && !still.has(line)).length;
}
