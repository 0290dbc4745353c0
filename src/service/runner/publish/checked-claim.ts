import { z } from "zod";
import type { Claims } from "../../../shared/contract/turn.ts";

/**
 * What came of looking for a source, in the order in which they are shown. `none`: the words aren't
 * there, or may not count. `partial`: they are, without a number, flag or name of the statement.
 * `unread`: nobody could look. `page`: another page of the docs says so, which proves nothing.
 * `request`: they stand in the request, so somebody said so. `code`: they stand in what the docs
 * are about.
 */
export const Evidence = z.enum(["none", "partial", "unread", "page", "request", "code"]);
export type Evidence = z.infer<typeof Evidence>;

/** A statement, and the result of looking for its source. Bounded and redacted. */
export const CheckedClaim = z.preprocess(
  (claim) => (isOlder(claim) ? { ...claim, evidence: claim.isFound ? "code" : "none" } : claim),
  z.object({
    page: z.string(),
    statement: z.string(),
    /**
     * `line` is where the quote begins. If it wasn't found, it is where the agent says. The quote
     * is kept for those who read the note, and never told.
     */
    source: z.object({
      repository: z.string(),
      path: z.string(),
      line: z.int().nullable(),
      quote: z.string().default(""),
    }),
    evidence: Evidence,
    /** The numbers, flags and names of the statement that the quote doesn't have. */
    missing: z.array(z.string()).default([]),
    /** True if the agent says that the source has a value in another form. */
    converted: z.boolean().default(false),
    /** The lines' page at the project's own code host, or null if there is none. */
    url: z.string().nullable(),
    /** True if everybody who can read the pull request can also read the source's repository. */
    isPublic: z.boolean(),
  }),
);
export type CheckedClaim = z.infer<typeof CheckedClaim>;

/** Earlier notes only told found from not found. */
function isOlder(claim: unknown): claim is { isFound: boolean } {
  return typeof claim === "object" && claim !== null && "isFound" in claim;
}

/** More aren't kept of all turns together. */
export const MAX_JOINED_CLAIMS = 400;

/**
 * The claims of several rounds or turns, oldest first. Of what more than one of them states, the
 * newest one's sources count.
 */
export function joinedClaims(lists: readonly (readonly CheckedClaim[])[]): CheckedClaim[] {
  const stated = new Set<string>();
  const joined: CheckedClaim[] = [];
  for (const list of lists.toReversed()) {
    const keyOf = ({ page, statement }: CheckedClaim) => JSON.stringify([page, statement]);
    const news = list.filter((claim) => !stated.has(keyOf(claim)));
    joined.unshift(...news);
    for (const claim of news) stated.add(keyOf(claim));
  }
  return joined.slice(-MAX_JOINED_CLAIMS);
}

/** How many statements there are, and how many of them code says. */
export function countClaims(claims: readonly CheckedClaim[] | null): Claims {
  const verified = claims?.filter(({ evidence }) => evidence === "code") ?? [];
  return { total: claims?.length ?? 0, verified: verified.length };
}

/** The claims as they are listed: what to look at first comes first. */
export function inShownOrder(claims: readonly CheckedClaim[]): CheckedClaim[] {
  const { options } = Evidence;
  return claims.toSorted((a, b) => options.indexOf(a.evidence) - options.indexOf(b.evidence));
}
