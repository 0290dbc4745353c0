import type { Block } from "./blocks.ts";

const URL = /\bhttps?:\/\/[^\s<>"'`)\]|\\]+/g;
const FLAG = /(?<![\w-])--[a-z][\w-]*/g;
const VARIABLE = /\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b/g;
const MAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const INLINE = /(`+)(.+?)\1/g;

/** The names of code, flags, variables and addresses in a block, as they are written. */
export function codeTokens({ kind, visible }: Pick<Block, "kind" | "visible">): string[] {
  const isCode = kind === "sample" || kind === "line" || kind === "html";
  const code = isCode ? [visible] : [...visible.matchAll(INLINE)].map(({ 2: inner }) => inner ?? "");
  const named = [URL, FLAG, VARIABLE, MAIL].flatMap((pattern) => visible.match(pattern) ?? []);
  const words = code
    .flatMap((text) => text.replace(URL, " ").split(/[\s"'`=,;()[\]{}<>|$!?]+/))
    .filter(isName);
  return [...named, ...words].map((token) => token.replace(/[.,:;]+$/, "")).filter((token) => token !== "");
}

/** True of words that look like code: parts with marks between, or letters of both cases. */
function isName(word: string): boolean {
  if (!/\p{L}/u.test(word) || /^[-.:/]+\p{L}?$/u.test(word)) return false;
  return (
    /[\p{L}\d][-_./:@]+[\p{L}\d]/u.test(word) || /\p{Ll}\p{Lu}/u.test(word) || /\p{L}\d|\d\p{L}/u.test(word)
  );
}

/** True if a token, or each of its parts, stands in a text, as a whole. */
export function isKnown(token: string, text: string): boolean {
  if (standsIn(token, text)) return true;
  const [, host = "", path = ""] = /^https?:\/\/([^/?#]+)([^?#]*)/.exec(token) ?? [];
  const parts = host === "" ? token.split(/[/:@.]+/) : [host, ...path.split("/")];
  const named = parts.filter((part) => part !== "");
  return (host !== "" || named.length > 1) && named.every((part) => standsIn(part, text));
}

/** True if a text has these words, and not only as a part of a longer word or flag. */
function standsIn(words: string, text: string): boolean {
  const goesOn = words.startsWith("--") ? /^[\p{L}\d_-]/u : /^[\p{L}\d_]/u;
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const isCutBefore = WORD.test(words[0] ?? "") && WORD.test(text[at - 1] ?? "");
    const isCutAfter = WORD.test(words.at(-1) ?? "") && goesOn.test(text[at + words.length] ?? "");
    if (!isCutBefore && !isCutAfter) return true;
  }
  return false;
}

const WORD = /[\p{L}\d_]/u;
