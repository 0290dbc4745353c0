import { isUtf8 } from "node:buffer";
import { redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import type { GitHubSettings } from "../../../config/config.ts";
import type { CheckedClaim, Evidence } from "../../publish/checked-claim.ts";
import { type HostedRepository, linesUrl } from "../../publish/hosted-pages.ts";
import { eachWord } from "../../publish/runs-of-words.ts";
import { type Lines, quoteFinder } from "./find-quotes.ts";
import { missingTokens } from "./missing-tokens.ts";
import { type Claim, MAX_QUOTE_LENGTH } from "./parse-claims.ts";

/**
 * A claim whose source was located. `path` is the file's own, or as the agent wrote it if there is
 * none. `evidence` is what the source comes to if its words are there.
 */
export type LocatedClaim = Pick<Claim, "page" | "statement" | "source" | "converted"> & {
  path: string;
  evidence: Evidence;
};

/**
 * A file as it was before the change. `after` is what the change makes of it: null if it removes
 * it, and absent if it doesn't touch it.
 */
export type SourceFile = { content: Buffer; after?: Buffer | null };

/** Claims with sources in one repository, and those files that could be read. */
export type Sources = {
  claims: readonly LocatedClaim[];
  files: ReadonlyMap<string, SourceFile>;
  commit: string;
  /** Where people can see the files. Null if that isn't known. */
  at: { codeHost: Pick<GitHubSettings, "apiUrl">; hosted: HostedRepository } | null;
  isPublic: boolean;
};

/** More of what a source doesn't have isn't told. */
const MAX_MISSING = 5;

/** Looks for each claim's quote. The result is bounded and redacted. */
export function checkSources(
  { claims, files, commit, at, isPublic }: Sources,
  redact: Redact,
): CheckedClaim[] {
  const searches = new Map([...files].map(([path, file]) => [path, searchIn(file)]));
  // Redacted before it is cut, because half a secret is a secret, too.
  const shown = (text: string, max: number) => redactedLine(redact, text, max);
  return claims.map(({ page, statement, source, converted, path, evidence: wanted }) => {
    const { repository, line = null, quote } = source;
    const { evidence: found, lines } = evidenceFor(source, wanted, searches.get(path));
    const missing = lines === null || converted ? [] : missingTokens(statement, quote);
    const evidence = missing.length > 0 ? "partial" : found;
    const url = lines && at && linesUrl(at.codeHost, at.hosted, commit, { path, ...lines });
    return {
      page: shown(page, 1000),
      statement: shown(statement, 300),
      source: {
        repository: shown(repository, 100),
        path: shown(path, 200),
        line: lines?.from ?? line,
        quote: shown(quote, MAX_QUOTE_LENGTH),
      },
      evidence,
      missing: missing.slice(0, MAX_MISSING).map((token) => shown(token, 100)),
      converted,
      url: url === null || redact(url) !== url ? null : url,
      isPublic,
    };
  });
}

type Found = { evidence: Evidence; lines: Lines | null };
const NOTHING: Found = { evidence: "none", lines: null };

function evidenceFor(
  { quote, line = null }: Claim["source"],
  wanted: Evidence,
  search: Search | undefined,
): Found {
  if (wanted === "none" || !saysMuch(quote)) return NOTHING;
  if (wanted === "unread" || search === undefined) return { evidence: "unread", lines: null };
  const { find, isGenerated, isText, counts } = search();
  if (wanted === "page" && isGenerated) return NOTHING;
  const lines = find(quote, { isCut: quote.length >= MAX_QUOTE_LENGTH, hint: line, counts });
  if (lines === null) return isText ? NOTHING : { evidence: "unread", lines };
  return { evidence: wanted, lines };
}

const MIN_WORDS = 2;
const MIN_LETTERS = 12;

/** True unless the words are so few that they stand in many files. */
function saysMuch(quote: string): boolean {
  let words = 0;
  eachWord(quote, () => (words += 1) < MIN_WORDS);
  return words >= MIN_WORDS && (quote.match(/[\p{L}\p{N}]/gu) ?? []).length >= MIN_LETTERS;
}

type Search = () => ReturnType<typeof openFile>;

/** Opens the file when the first quote is looked for in it. */
function searchIn(file: SourceFile): Search {
  let opened: ReturnType<typeof openFile> | undefined;
  return () => (opened ??= openFile(file));
}

/** A page that begins like this says only what something else says. */
const GENERATED =
  /\bdo(?: not|n['’]t) (?:edit|modify|change)\b|@generated\b|\b(?:is|was) auto(?:-|matically )generated\b/i;
const HEAD_BYTES = 1000;

function openFile({ content, after }: SourceFile) {
  const isData = content.includes(0);
  return {
    find: isData ? () => null : quoteFinder(content),
    isText: !isData && isUtf8(content),
    isGenerated: GENERATED.test(content.toString("utf8", 0, HEAD_BYTES)),
    counts: after === undefined ? () => true : staysIn(content, after),
  };
}

/** Tells of lines of a file if all of them stay in what the change makes of it. */
function staysIn(content: Buffer, after: Buffer | null): (lines: Lines) => boolean {
  const linesOf = (text: Buffer) =>
    text
      .toString("utf8")
      .split("\n")
      .map((line) => line.trim());
  const before = linesOf(content);
  const kept = new Set(after === null ? [] : linesOf(after));
  return ({ from, to }) => before.slice(from - 1, to).every((line) => kept.has(line));
}
