import { cutAtWord } from "./cut-at-word.ts";

const MAX_PAGE_WORDS_LENGTH = 160;
const MAX_JOINED_LENGTH = 400;
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
    wordsOf.set(path, cutAtWord(words.trim(), MAX_PAGE_WORDS_LENGTH));
    return false;
  });
  return { rest: rest.join("\n").trim(), wordsOf };
}

/**
 * What several turns say about a page as one line, oldest first. If it is too long, the first and
 * the newest stay.
 */
export function joinedWords(said: readonly string[]): string {
  const kept = said.filter((words, at) => said.indexOf(words) === at);
  const isLeftOut = () => kept.length < new Set(said).size;
  const joined = () => kept.toSpliced(1, 0, ...(isLeftOut() ? ["…"] : [])).join("; ");
  while (joined().length > MAX_JOINED_LENGTH) kept.splice(1, 1);
  return joined();
}
