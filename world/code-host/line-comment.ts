import { z } from "zod";

/** The side of a diff: what was, or what is to be. */
export const DiffSide = z.enum(["LEFT", "RIGHT"]);
export type DiffSide = z.infer<typeof DiffSide>;

/** A comment on a line of a pull request's change, as it was when it was written. */
export const LineComment = z.object({
  id: z.int().positive(),
  reviewId: z.int().positive(),
  /** The comment that began the thread, for all but that one. */
  inReplyTo: z.int().positive().nullable(),
  author: z.string(),
  body: z.string(),
  path: z.string(),
  side: DiffSide,
  line: z.int().positive(),
  /** Where a comment on several lines begins. */
  startLine: z.int().positive().nullable(),
  /** Lines below the file's first hunk header. */
  position: z.int().positive(),
  diffHunk: z.string(),
  /** The head that was looked at, and what its change is counted from. */
  commitSha: z.string(),
  mergeBaseSha: z.string(),
  createdAt: z.string(),
  /** Who resolved the thread, in its first comment. */
  resolvedBy: z.string().nullable(),
});
export type LineComment = z.infer<typeof LineComment>;
