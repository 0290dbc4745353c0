import type { GitRunner } from "../git/git.ts";
import { readObjects } from "../git/objects.ts";
import { isSafePath } from "../tree/names.ts";

const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_ALL_BYTES = 32 * 1024 * 1024;
/** Shorter words stand in many a file. */
const MIN_QUOTE_LENGTH = 12;
const MAX_MATCHES = 1000;
const ENTRY = /^100\d{3} blob (?<oid>[0-9a-f]+) +(?<size>\d+)\t(?<path>.*)$/s;

/** The first and the last line of what was found, from 1. */
export type Lines = { from: number; to: number };

/**
 * The texts of these files at the commit, without those that are missing, links, too large or no
 * text. Rejects as `GitRunner.run` does.
 */
export async function readTexts(
  git: GitRunner,
  commit: string,
  paths: readonly string[],
  timeLimitMs: number,
): Promise<Map<string, string>> {
  const asked = [...new Set(paths)].filter(isSafePath);
  if (asked.length === 0) return new Map();
  const options = ["-z", "-l", "--full-tree", "--end-of-options"];
  const call = { env: { GIT_LITERAL_PATHSPECS: "1" }, timeLimitMs };
  const listing = await git.lines(["ls-tree", ...options, commit, ...asked], call);
  let bytes = 0;
  const entries = listing.flatMap((line) => {
    const { oid = "", size, path = "" } = ENTRY.exec(line)?.groups ?? {};
    if (size === undefined || Number(size) > MAX_FILE_BYTES || bytes + Number(size) > MAX_ALL_BYTES)
      return [];
    bytes += Number(size);
    return [{ oid, path }];
  });
  const contents = await readObjects(
    git,
    entries.map(({ oid }) => oid),
  );
  const texts = entries.map(({ path }, index) => [path, contents[index]] as const);
  return new Map(
    texts.flatMap(([path, content]) =>
      content === undefined || content.includes(0) ? [] : [[path, content.toString("utf8")]],
    ),
  );
}

/**
 * Where the quote, words with single spaces between them, stands in the text, whatever the white
 * space there: the place that is nearest to the line of `hint`. Null: nowhere, or it is too short.
 */
export function findQuote(text: string, quote: string, hint: number | null): Lines | null {
  if (quote.length < MIN_QUOTE_LENGTH) return null;
  const pattern = new RegExp(
    quote
      .split(" ")
      .map(escaped)
      .join(String.raw`\s+`),
    "g",
  );
  let found: Lines | null = null;
  let [line, at, matches] = [1, 0, 0];
  for (const match of text.matchAll(pattern)) {
    line += lineFeeds(text.slice(at, match.index));
    at = match.index;
    const place = { from: line, to: line + lineFeeds(match[0]) };
    const distance = ({ from }: Lines) => Math.abs(from - (hint ?? 1));
    if (found === null || distance(place) < distance(found)) found = place;
    if ((matches += 1) === MAX_MATCHES) break;
  }
  return found;
}

function lineFeeds(text: string): number {
  return text.split("\n").length - 1;
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}
