import { type Trace, keyOfText, type Rule, shown } from "../rule.ts";

/** Controls, marks that turn the direction of a text, and characters without width. */
const CONTROL = /(?![\t\n\f\r])[\p{Cc}\u202A-\u202E\u2066-\u2069\u200B\u2060\uFEFF]/gu;
const AROUND = 15;

/** Characters that nobody sees and that change what a page does or how it is found. */
export const controlCharacter: Rule = ({ text }) =>
  [...text.matchAll(CONTROL)].map(({ 0: character, index }) => ({
    at: index,
    key: `${character}${beforeOf(text, index)}`,
    says: `There is an invisible character (${codeOf(character)}) after ${shown(beforeOf(text, index))}.`,
  }));

function beforeOf(text: string, at: number): string {
  return text.slice(Math.max(0, at - AROUND), at);
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** UTF-8 that was read as Windows-1252: two or three signs in place of a letter or a quote. */
const GARBLED = new RegExp(
  [
    String.raw`\u00C3[\u0080-\u00BF\u0192\u201A\u2026\u2020\u2021\u02C6\u2030]`,
    String.raw`\u00E2\u20AC[\u0080-\u00BF\u2122\u0153\u201C\u201D\u02DC\u00A6]`,
    String.raw`\u00C2[\u00A0-\u00BF]|\u00EF\u00BB\u00BF|\u00F0\u0178[\u0080-\u00BF\u0152-\u2122]`,
  ].join("|"),
  "g",
);

/** Bytes or letters that were broken on the way. */
export const encoding: Rule = (page, before) => {
  const { text } = page;
  const found: Trace[] = [...text.matchAll(/\uFFFD+/g)].map(({ index }) => ({
    at: index,
    key: `\uFFFD${beforeOf(text, index)}`,
    says: `A letter is broken after ${shown(beforeOf(text, index))}.`,
  }));
  for (const { 0: letters, index } of text.matchAll(GARBLED)) {
    const says = `${shown(letters)} stands where a letter or a quotation mark was meant.`;
    found.push({ at: index, key: `${letters}${beforeOf(text, index)}`, says });
  }
  if (!page.isUtf8) found.push({ at: 0, key: "bytes", says: "The page isn't written in UTF-8." });
  if (before === null) return found;
  if (page.hasMark && !before.hasMark)
    found.push({ at: 0, key: "mark", says: "The page begins with a byte order mark, which it didn't have." });
  const [is, was] = [lineEndsOf(text), lineEndsOf(before.text)];
  if (is.isMixed && !was.isMixed && was.count > 1)
    found.push({
      at: text.indexOf(was.isWindows ? "\n" : "\r\n"),
      key: "ends",
      says: "Some lines end in another way than the rest.",
    });
  else if (!is.isMixed && !was.isMixed && is.isWindows !== was.isWindows && was.count > 1 && is.count > 1) {
    // A change of nothing else, to what most pages have, is on purpose.
    if (!is.isWindows && keyOfText(before.text) === keyOfText(text)) return found;
    found.push({ at: 0, key: "ends", says: "All lines end in another way than before." });
  }
  return found;
};

function lineEndsOf(text: string): { count: number; isWindows: boolean; isMixed: boolean } {
  const windows = text.split("\r\n").length - 1;
  const count = text.split("\n").length - 1;
  return { count, isWindows: windows > 0, isMixed: windows > 0 && windows < count };
}
