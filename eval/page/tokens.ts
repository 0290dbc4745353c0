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

/** True if a token, or each of its parts, stands in a text. */
export function isKnown(token: string, text: string): boolean {
  if (text.includes(token)) return true;
  const address = /^https?:\/\/([^/?#]+)([^?#]*)/.exec(token);
  if (address !== null)
    return (
      text.includes(address[1] ?? "") && (address[2] ?? "").split("/").every((part) => text.includes(part))
    );
  const parts = token.split(/[/:@.]+/).filter((part) => part !== "");
  return parts.length > 1 && parts.every((part) => text.includes(part));
}
