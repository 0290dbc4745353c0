import { cut } from "../../../shared/text/text.ts";
import { DOCS_NAME, REQUEST_NAME } from "../claims-file.ts";
import { type CheckedClaim, countClaims, inShownOrder } from "./checked-claim.ts";
import { fileName, plainMarkdown } from "./inert-text.ts";

const MAX_SHOWN = 10;
const MAX_PAGE_LENGTH = 200;

/** What came of the sources together, and of each: Markdown, line by line. */
export type SourcesText = { found: string; lines: string[] };

/**
 * The text about the sources: how many were found, and a list that begins with what to look at
 * first. A public pull request names nothing that isn't public. Null if there are no claims.
 */
export function sourcesText({
  claims,
  isPublicPullRequest,
}: {
  claims: readonly CheckedClaim[];
  isPublicPullRequest: boolean;
}): SourcesText | null {
  if (claims.length === 0) return null;
  const named = claims.filter(({ isPublic }) => isPublic || !isPublicPullRequest);
  const hidden = claims.filter((claim) => !named.includes(claim));
  const listed = inShownOrder(named);
  const more = listed.slice(MAX_SHOWN);
  const { total, verified } = countClaims(claims);
  const lines = [
    ...listed.slice(0, MAX_SHOWN).map((claim) => `- ${claimText(claim, isPublicPullRequest)}`),
    ...(more.length === 0 ? [] : [`- … and ${countText(more, "more")}`]),
    ...(hidden.length === 0 ? [] : [`- ${countText(hidden, "in sources that aren't public")}`]),
  ];
  return { found: `${verified} of ${total} found`, lines };
}

function countText(claims: readonly CheckedClaim[], what: string): string {
  const { total, verified } = countClaims(claims);
  return `${total} ${what}, ${verified} found`;
}

function claimText(claim: CheckedClaim, isPublic: boolean): string {
  const { page, statement, source, evidence, missing, converted, url } = claim;
  const { repository, path, line } = source;
  const from = repository === DOCS_NAME ? "" : `${repository}: `;
  const place = plainMarkdown(`${from}${path}${line === null ? "" : `, line ${line}`}`);
  const linked = url === null ? place : `[${place}](${url})`;
  // A source that nobody has seen may contain a name that isn't public.
  const named = isPublic || path === "" ? "" : ` (${place})`;
  // What others said in Slack isn't named.
  const partly = source.repository === REQUEST_NAME ? "" : `: ${linked}`;
  const came = {
    code: `source found${converted ? ", with another form of the value" : ""}: ${linked}`,
    request: "said in Slack, not found in the code",
    partial: `the source doesn't have ${missing.map(plainMarkdown).join(", ")}${partly}`,
    page: `also said on ${linked}`,
    unread: `source not checked${named}`,
    none: `no source found${named}`,
  };
  return `${fileName(cut(page, MAX_PAGE_LENGTH))}: ${plainMarkdown(statement)} – ${came[evidence]}`;
}
