import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import type { GitHubSettings } from "../../config/config.ts";
import type { CheckedClaim } from "../publish/checked-claim.ts";
import { type HostedRepository, linesUrl } from "../publish/hosted-pages.ts";
import { findQuotes } from "./find-quotes.ts";
import type { Claim } from "./parse-claims.ts";

/** Claims with sources in one repository, and the files that they name there. */
export type Sources = {
  claims: readonly Claim[];
  files: ReadonlyMap<string, Buffer>;
  commit: string;
  /** Where people can see the files. Null if that isn't known. */
  at: { codeHost: Pick<GitHubSettings, "apiUrl">; hosted: HostedRepository } | null;
  isPublic: boolean;
};

/** Looks for each claim's quote. The result is bounded and redacted. */
export function checkSources(
  { claims, files, commit, at, isPublic }: Sources,
  redact: Redact,
): CheckedClaim[] {
  const quotes = claims.map(({ source: { path, quote, line = null } }) => ({ path, quote, line }));
  const found = findQuotes({ files, quotes });
  // Redacted before it is cut, because half a secret is a secret, too.
  const shown = (text: string, max: number) => redactedLine(redact, text, max);
  return claims.map(({ page, statement, source }, index) => {
    const { repository, path, line = null } = source;
    const lines = found[index] ?? null;
    const url = lines && at && linesUrl(at.codeHost, at.hosted, commit, { path, ...lines });
    return {
      page: shown(page, 200),
      statement: shown(statement, 300),
      source: { repository: shown(repository, 100), path: shown(path, 200), line: lines?.from ?? line },
      isFound: lines !== null,
      url: url === null || redact(url) !== url ? null : url,
      isPublic,
    };
  });
}
