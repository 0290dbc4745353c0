import { cut } from "../../../shared/text/text.ts";

const MAX_PAGE_WORDS_LENGTH = 160;
/**
 * Matches `- <page>: the new flag`, with or without a number, marks, or code around the path. Its
 * parts are bounded, because an agent's line could take minutes otherwise.
 */
const LINE = new RegExp(
  String.raw`^\s*(?:[-*+]|\d+[.)])\s+[*_\x60[]{0,9}([^\s*_\x60:[\]][^\s*_\x60:\]]{0,299})[\]*_\x60]{0,9}` +
    String.raw`(?:\([^)]{0,300}\))?[*_\x60]{0,9}\s*(?::|–|—|-)\s+(\S.*)$`,
);

/**
 * Takes the lines about one of these pages out of a summary, so that they can be shown with the
 * page. A line may name a page by the end of its path if no other page has the same ending.
 */
export function splitByPage(summary: string, paths: readonly string[]) {
  const wordsOf = new Map<string, string>();
  const rest = summary.split("\n").filter((line) => {
    const [, named = "", words = ""] = LINE.exec(line) ?? [];
    const ending = named.replace(/^\.?\//, "");
    const meant = paths.filter((path) => path === ending || path.endsWith(`/${ending}`));
    const [path] = paths.includes(ending) ? [ending] : meant;
    if (named === "" || path === undefined || (meant.length > 1 && path !== ending)) return true;
    // A second line about it says something else, such as what was left alone.
    if (wordsOf.has(path)) return true;
    wordsOf.set(path, cut(words, MAX_PAGE_WORDS_LENGTH));
    return false;
  });
  return { rest: rest.join("\n").trim(), wordsOf };
}
