import { type CheckedClaim, countClaims, inShownOrder } from "./checked-claim.ts";
import { fileName, plainMarkdown } from "./inert-text.ts";

const MAX_SHOWN = 10;

/**
 * The lines of Markdown about the sources: a short first one and, after an empty line, a list that
 * begins with what to look at first. A public pull request names nothing that isn't public.
 */
export function sourcesText({
  claims,
  isPublicPullRequest,
}: {
  claims: readonly CheckedClaim[] | null;
  isPublicPullRequest: boolean;
}): string[] {
  if (claims === null || claims.length === 0) return ["The agent named no sources."];
  const named = claims.filter(({ isPublic }) => isPublic || !isPublicPullRequest);
  const hidden = claims.filter((claim) => !named.includes(claim));
  const listed = inShownOrder(named);
  const more = listed.slice(MAX_SHOWN);
  const { total, verified } = countClaims(claims);
  return [
    `${total} ${total === 1 ? "statement" : "statements"}, ${verified} with a source.`,
    "",
    ...listed.slice(0, MAX_SHOWN).map((claim) => `- ${claimText(claim, isPublicPullRequest)}`),
    ...(more.length === 0 ? [] : [`- … and ${countText(more, "more")}`]),
    ...(hidden.length === 0 ? [] : [`- ${countText(hidden, "in sources that aren't public")}`]),
  ];
}

function countText(claims: readonly CheckedClaim[], what: string): string {
  const { total, verified } = countClaims(claims);
  return `${total} ${what}, ${verified} found`;
}

function claimText({ page, statement, source, isFound, url }: CheckedClaim, isPublic: boolean): string {
  const about = `${fileName(page)}: ${plainMarkdown(statement)} –`;
  const { repository, path, line } = source;
  const from = repository === "docs" ? "" : `${repository}: `;
  const place = plainMarkdown(`${from}${path}${line === null ? "" : `, line ${line}`}`);
  // A source that wasn't found may contain a name that isn't public.
  if (!isFound) return `${about} source not found${isPublic || path === "" ? "" : ` (${place})`}`;
  return `${about} source found: ${url === null ? place : `[${place}](${url})`}`;
}
