import { z } from "zod";
import type { ReportedClaims } from "../../../src/core/ports/job-report.ts";

/** A statement, and the result of looking for its source. Bounded and redacted. */
export const CheckedClaim = z.object({
  page: z.string(),
  statement: z.string(),
  /** `line` is where the quote begins. If it wasn't found, it is where the agent says. */
  source: z.object({ repository: z.string(), path: z.string(), line: z.int().nullable() }),
  isFound: z.boolean(),
  /** The lines' page at the project's own code host, or null if there is none. */
  url: z.string().nullable(),
  /** True if everybody who can read the pull request can also read the source's repository. */
  isPublic: z.boolean(),
});
export type CheckedClaim = z.infer<typeof CheckedClaim>;

/** How many statements there are, and of how many the source was found. */
export function countClaims(claims: readonly CheckedClaim[] | null): ReportedClaims {
  return { total: claims?.length ?? 0, verified: claims?.filter(({ isFound }) => isFound).length ?? 0 };
}

/** The claims as they are listed: what to look at first comes first. */
export function inShownOrder(claims: readonly CheckedClaim[]): CheckedClaim[] {
  return claims.toSorted((a, b) => Number(a.isFound) - Number(b.isFound));
}
