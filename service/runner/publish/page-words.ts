import { cut } from "../../../src/core/text/text.ts";

const MAX_WORDS_LENGTH = 160;
/** `- <page>: the new flag`, with or without a number, marks, or code around the path. */
const LINE =
  /^\s*(?:[-*+]|\d+[.)])\s+[*_`[]*([^\s*_`:\]]+)[\]*_`]*(?:\([^)]*\))?[*_`]*\s*(?::|–|—|-)\s+(\S.*)$/;

/**
 * Takes the lines of a summary that say what was done to one of these pages out of it, so that they
 * stand with the page. A page may be named by the end of its path where only one ends so.
 */
export function splitByPage(
  summary: string,
  paths: readonly string[],
): { rest: string; wordsOf: Map<string, string> } {
  const wordsOf = new Map<string, string>();
  const rest = summary.split("\n").filter((line) => {
    const [, named = "", words = ""] = LINE.exec(line) ?? [];
    const ending = named.replace(/^\.?\//, "");
    const meant = paths.filter((path) => path === ending || path.endsWith(`/${ending}`));
    const [path] = paths.includes(ending) ? [ending] : meant;
    if (named === "" || path === undefined || (meant.length > 1 && path !== ending)) return true;
    // Another line about it is about something else, such as what was left alone.
    if (wordsOf.has(path)) return true;
    wordsOf.set(path, cut(words, MAX_WORDS_LENGTH));
    return false;
  });
  return { rest: rest.join("\n").trim(), wordsOf };
}
