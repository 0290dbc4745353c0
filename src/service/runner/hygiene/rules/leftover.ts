import { CODE, type DocPage } from "../page.ts";
import { type Trace, keyOfText, type Rule, shown } from "../rule.ts";
import { openLiterals } from "./rst-marks.ts";

/** The stretches of plain words: each paragraph and heading, and each cell of a table. */
function stretches(page: DocPage): { from: number; to: number }[] {
  const cells = page.parts.filter(({ type }) => type === "tableData" || type === "tableHeader");
  return [...page.blocks.filter(({ kind }) => kind === "paragraph" || kind === "heading"), ...cells];
}

/**
 * `before` must come after it in the page's text, where addresses are, and `unless` must not stand
 * in the paragraph's text.
 */
type Leftover = { pattern: RegExp; before?: RegExp; unless?: RegExp; says: (around: string) => string };
/** What the parser leaves over as words where a mark has no other half. */
const LEFTOVERS: readonly Leftover[] = [
  {
    pattern: /(?<![*\\/\w])\*\*(?=[\p{L}\d"'([\uE000])|(?<=[\p{L}\d.,:;!?"')\]\uE000])\*\*(?![*/\w])/gu,
    // Not in CommonMark, but for other parsers this is bold: 被称为**“并发”**，以及**「平行」**的.
    unless: /[^\p{L}\p{N}\s*]\*\*[\p{L}\p{N}]|[\p{L}\p{N}]\*\*[^\p{L}\p{N}\s*]/u,
    says: (around) => `"**" stands as text in ${around}: bold begins or ends nowhere.`,
  },
  {
    pattern: /(?<!["'\u201C`])`+(?!["'\u201D`])/g,
    says: (around) => `A backtick stands as text in ${around}: code in the line has no other end.`,
  },
  {
    pattern: /[\p{L}\d\uE000.!?*_)]\]\s?\(/gu,
    before: /^\(?(?:https?:|[./#]|mailto:|[\w-]+\.(?:md|html))/,
    says: (around) => `A link doesn't work in ${around}: its address isn't closed, or stands apart.`,
  },
  {
    pattern: /(?<=[\w\uE000]\))\[/gu,
    before: /^(?:https?:|#|\.{0,2}\/)/,
    says: (around) => `A link doesn't work in ${around}: brackets and parentheses are swapped.`,
  },
];
const AROUND = 20;
const INTERVAL = /[[(]\s*-?[\w.]+\s*,\s*-?[\w.]+\s*[\])]/g;

/** Marks of bold, code and links without their other half, which readers see as signs. */
export const openMark: Rule = (page) => {
  if (page.markup === "rst") return openLiterals(page);
  if (page.parts.length === 0) return [];
  const found: Trace[] = [];
  for (const { from, to } of stretches(page)) {
    const words = page.plain.slice(from, to);
    for (const { pattern, before, unless, says } of LEFTOVERS) {
      if (unless?.test(page.text.slice(from, to)) === true) continue;
      const match = [...words.matchAll(pattern)].find(
        ({ 0: all, index }) => before?.test(page.text.slice(from + index + all.length, to)) ?? true,
      );
      if (match === undefined) continue;
      const at = from + match.index;
      const around = page.text.slice(Math.max(from, at - AROUND), Math.min(to, at + AROUND));
      found.push({ at, key: keyOfText(page.text.slice(from, to)), says: says(shown(around)) });
    }
    const lone = loneBracket(words);
    if (lone < 0) continue;
    const around = page.text.slice(Math.max(from, from + lone - AROUND), Math.min(to, from + lone + AROUND));
    found.push({
      at: from + lone,
      key: keyOfText(page.text.slice(from, to)),
      says: `A bracket has no other half in ${shown(around)}.`,
    });
  }
  return found;
};

/** Where a bracket has no other half, or -1. */
function loneBracket(text: string): number {
  const open: number[] = [];
  const words = text.replace(INTERVAL, (interval) => " ".repeat(interval.length));
  for (const { 0: bracket, index } of words.matchAll(/[[\]]/g))
    if (bracket === "[") open.push(index);
    else if (open.pop() === undefined) return index;
  return open[0] ?? -1;
}

const REFERENCE = /(?<![\w\])\\])\[([^[\]\n]{1,200})\]\[([^[\]\n]{0,100})\]/g;
/** Names of code, which a plugin links, and types of TypeScript: `[string, number][]`. */
const DOTTED = /^`?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?`?$/;
const FILE = /\.(?:mdx?|html?|rst|adoc|txt)$/i;
const TYPE_LIST = /^[\w$.]+\??(?:\s*[,|]\s*[\w$.]+\??)+$|^(?:string|number|boolean|any|unknown|object)$/;
const FOOTNOTE = /\[\^([^[\]\s]{1,60})\](?!:)/g;

/** Links and footnotes by a name that the page doesn't define. */
export const undefinedReference: Rule = (page, before) => {
  if (page.parts.length === 0) return [];
  const found: Trace[] = [];
  for (const { from, to } of stretches(page)) {
    const words = page.plain.slice(from, to);
    for (const pattern of [REFERENCE, FOOTNOTE])
      for (const match of words.matchAll(pattern)) {
        const text = page.text.slice(from + match.index, from + match.index + match[0].length);
        if (match[0] === CODE || isOfCode(text)) continue;
        found.push({
          at: from + match.index,
          key: text,
          says: `${shown(text)} names nothing that the page defines.`,
        });
      }
  }
  if (before === null || found.length === 0) return found;
  // Some sites define such names elsewhere.
  return undefinedReference(before, null, NOBODY).length > 0 ? [] : found;
};

/** True for a reference whose name is one of code, and for a type that looks like a reference. */
function isOfCode(reference: string): boolean {
  const [, words = "", name = ""] = /^\[([^\]]*)\]\[([^\]]*)\]$/.exec(reference) ?? [];
  const target = name === "" ? words : name;
  return (DOTTED.test(target) && !FILE.test(target)) || (name === "" && TYPE_LIST.test(words));
}

const NOBODY = { words: "", quotedNames: [] };
