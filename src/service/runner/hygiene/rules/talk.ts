import { anyOf, eachLine, type Trace, keyOfText, type Rule, shown } from "../rule.ts";
import type { DocPage } from "../page.ts";

const PART = anyOf(
  "page, file, document, documentation, docs, doc, version, section, text, content, markdown, paragraph, " +
    "table, code",
);
const DONE = anyOf(
  "updated, changed, fixed, added, revised, corrected, rewritten, edited, made, removed, replaced",
);
const NEW = anyOf(
  "updated, revised, corrected, modified, edited, rewritten, improved, fixed, complete, full, final, new",
);
const YES = anyOf("certainly, absolutely, of course, sure, sure thing, great question, understood, got it");
const BEGINS = anyOf("here, here's, i'll, i've, i will, i have, i can, let me, below");
const OFFER = anyOf(
  "i hope this helps, hope this helps, is there anything else, feel free to ask, feel free to let me know, " +
    "let me know if you'd like, let me know if you want, let me know if you need, let me know if you have",
);
const REPORT = anyOf(
  "changes made, what i changed, summary of changes, summary of the changes, summary of changes made, " +
    "note to reviewers, note to the reviewer, note to the user, note to the requester",
);
const ASKED = anyOf(
  "as requested, as you asked, as you requested, per your request, following your request, " +
    "per your instructions, following your instructions, per the user's request",
);
/** How assistants talk about their work, at the beginning of a paragraph or line. */
const TALK: readonly RegExp[] = [
  String.raw`^${YES}[!,.]\s+${BEGINS}\b`,
  "^(?:certainly|absolutely|of course|sure thing|great question|happy to help)!",
  String.raw`^(?:here's|here is|below is|this is) (?:the|your|an?|my) (?:\w+ )?${NEW} (?:\w+ ){0,2}${PART}\b`,
  String.raw`^i(?:'ve| have) (?:now |just |also |successfully )?${DONE}\b`,
  String.raw`^as an ai\b|\bas an ai (?:language )?(?:model|assistant)\b|\bas a large language model\b`,
  String.raw`^${OFFER}\b`,
  String.raw`^${REPORT}:?\s*$`,
  String.raw`^${ASKED}\b`,
  String.raw`:contentReference\[oaicite|\boaicite:\d|\bturn\d+(?:search|view|news|file)\d+\b`,
  String.raw`[?&]utm_source=(?:chatgpt\.com|openai)\b`,
].map((source) => new RegExp(source, "i"));
/** What a line may have before its words. */
const LEAD = /^[\s>*_#-]*/;

/** Words of the agent to the requester, on the page. */
export const chatTalk: Rule = (page, _before, { words }) =>
  wordLines(page).flatMap(({ line, at }) => {
    const said = line.replace(LEAD, "").replaceAll("\u2019", "'");
    if (!TALK.some((pattern) => pattern.test(said)) || isAsked(said, words)) return [];
    return [
      {
        at,
        key: keyOfText(said),
        says: `This is said to the requester, and not to readers: ${shown(said)}.`,
      },
    ];
  });

function wordLines(page: DocPage): { line: string; at: number }[] {
  return eachLine(page, page.prose).filter(({ line }) => line.trim() !== "");
}

function isAsked(text: string, words: string): boolean {
  const start = keyOfText(text).slice(0, 40).toLowerCase();
  return start.length > 3 && keyOfText(words).toLowerCase().includes(start);
}

const KEPT = anyOf(
  "unchanged, omitted, remains?, remains? the same, remains? unchanged, stays? the same, as is, as before, " +
    "continues?, continues? below, goes here, here",
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
  String.raw`^\W*${DOTS}?\s*(?:previous|existing|remaining|other|original|earlier) (?:\w+ )?${PART}s?` +
    String.raw`(?: (?:is|are))?(?: ${KEPT})?\W*$`,
  String.raw`^\W*${DOTS}?\s*${LEFT_OUT}\s*${DOTS}?\W*$`,
].map((source) => new RegExp(source, "i"));
const MAX_REST_CHARS = 200;
/** What begins and ends a comment. */
const COMMENT_MARKS = /^\s*(?:\/\/|#|--|<!--|\{?\/\*|;)\s*|\s*(?:-->|\*\/\}?)\s*$/g;
const MIN_LOST = 3;

/** A remark in place of what was there: "rest of the page unchanged". */
export const restUnchanged: Rule = (page, before) => {
  const found: Trace[] = [];
  const lost = before === null ? new Set<string>() : lostLines(before, page);
  for (const { line, at } of eachLine(page)) {
    const words = line.length > MAX_REST_CHARS ? "" : line.replace(COMMENT_MARKS, "");
    if (!REST.some((pattern) => pattern.test(words))) continue;
    // Samples leave out what a reader has already. On a page, nothing may be left out.
    const isSample =
      page.prose.slice(at, at + line.length).trim() === "" && !/^\s*(?:<!--|\{\/\*)/.test(line);
    const isRemark = !isSample && /^\s*[[(<{…./#*-]|unchanged/i.test(line);
    if (lost.size < MIN_LOST && !isRemark) continue;
    found.push({
      at,
      key: keyOfText(line),
      says: `This stands in place of a part of the page: ${shown(line.trim())}.`,
    });
  }
  return found;
};

function lostLines(before: DocPage, after: DocPage): Set<string> {
  const still = new Set(after.lines.map((line) => line.trim()));
  return new Set(
    before.lines.map((line) => line.trim()).filter((line) => /\w/.test(line) && !still.has(line)),
  );
}
