import type { DocPage } from "../page.ts";
import { anyOf, isForm, type Trace, keyOfText, type Rule, shown } from "../rule.ts";
import { DONE } from "./talk.ts";

/** Tools that read comments. */
const TOOLS = anyOf(
  "markdownlint, prettier, eslint, textlint, spell-?checker, remark, vale, alex, write-?good, dprint, " +
    "biome, mdformat, rumdl, pyml, codespell, cspell, ltex, htmlhint, html-validate, doctoc, no ?toc, " +
    "omit in toc, tocstop, doc-gen, auto-?generated, generated, all-contributors, spdx, copyright, " +
    String.raw`license, doctest, noqa, deno-fmt, deno-lint, [#!@][\w-]+, mdx-\w+, markdown-\w+, ts-\w+`,
);
/** Words that tools read, and sentences begin with. */
const SWITCHES = anyOf(
  "lint, truncate, more, excerpt, toc, start, end, begin, stop, include, import, embed, snippet, region, " +
    "endregion, skip, ignore, fmt, tabs?, panels?",
);
const MAX_SWITCH_WORDS = 3;
const DIRECTIVE = new RegExp(String.raw`^\W*(?:${TOOLS}\b|[\w-]+[:=]\S|$)`, "i");
const SWITCH = new RegExp(String.raw`^\W*(?:${SWITCHES}\b|[\w-]+:\s)`, "i");
const MIN_WORDS = 3;
/** Authors of these pages leave notes for each other. */
const CUSTOMARY: ReadonlySet<DocPage["markup"]> = new Set(["rst", "asciidoc"]);
/** How comments speak of the change itself, of whoever wanted it, or to whoever reviews it. */
const OF_THE_CHANGE: readonly RegExp[] = [
  String.raw`^\W*(?:\w+:\s*)?(?:now |newly )?${DONE}\b`,
  String.raw`\b(?:is|are|was|were|been) (?:now |just |also )?${DONE}\b`,
  String.raw`\b(?:asked|requested|agreed|discussed|decided|reported|instructed)\b`,
  String.raw`\b(?:requester|reviewers?|slack|docs[- ]agent)\b`,
  String.raw`\bper (?:the |your )?(?:request|issue|thread)\b`,
  String.raw`\b(?:verif(?:y|ied)|confirm(?:ed)?|double-check|approve)\b`,
  String.raw`\bignore (?:all|any|what|the|everything|previous)\b`,
  String.raw`\b(?:old|previous) (?:value|text|version)\b|\bpreviously\b`,
  String.raw`(?<![^\s(])[#@][a-z][\w-]+|\bI(?:'\w+)? [a-z]`,
].map((source) => new RegExp(source, "i"));

/**
 * A new note that no reader sees. What stood on the page before may have been commented out. Where
 * comments are customary, only one that speaks of the change counts.
 */
export const comment: Rule = (page, before) => {
  if (isForm(page)) return [];
  const known = before === null ? "" : keyOfText(before.prose);
  const found: Trace[] = [];
  const add = (at: number, text: string) => {
    const words = text.split(/\s+/).filter((word) => /[\p{L}\d]{2}/u.test(word));
    if (words.length < MIN_WORDS || DIRECTIVE.test(text)) return;
    if (words.length <= MAX_SWITCH_WORDS && SWITCH.test(text)) return;
    if (text.split("\n").some((line) => line.trim() !== "" && known.includes(keyOfText(line)))) return;
    if (CUSTOMARY.has(page.markup) && !OF_THE_CHANGE.some((pattern) => pattern.test(text))) return;
    found.push({ at, key: keyOfText(text), says: `Readers don't see this comment: ${shown(text.trim())}.` });
  };
  for (const { from, to } of page.comments) {
    add(from, page.text.slice(from, to).replace(/^(?:<!--+|\{\s*\/\*+)|(?:--+>|\*+\/\s*\})$/g, ""));
  }
  const pattern = LINE_COMMENTS[page.markup];
  if (pattern !== undefined)
    for (const match of page.prose.matchAll(pattern)) add(match.index, match[1] ?? match[2] ?? "");
  return found;
};

const LINE_COMMENTS: Partial<Record<DocPage["markup"], RegExp>> = {
  markdown: /^\[(?:\/\/|comment)\]:\s*(?:#|<>)\s*["'(](.*)["')]\s*$/gim,
  rst: /^\.\. (?![\w:+.-]+::|_|\[|\|)(.+)$/gm,
  asciidoc: /^\/\/(?!\/)\s?(.+)$/gm,
};
