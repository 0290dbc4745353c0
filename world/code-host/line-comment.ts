import { z } from "zod";

/** The side of a diff: LEFT is the old text, and RIGHT is the new one. */
export const DiffSide = z.enum(["LEFT", "RIGHT"]);
export type DiffSide = z.infer<typeof DiffSide>;

/**
 * A comment on a line of a pull request's change. It keeps the state of the time when it was
 * written.
 */
export const LineComment = z.object({
  id: z.int().positive(),
  reviewId: z.int().positive(),
  /** The first comment of the thread. Null in the first comment itself. */
  inReplyTo: z.int().positive().nullable(),
  author: z.string(),
  body: z.string(),
  path: z.string(),
  side: DiffSide,
  line: z.int().positive(),
  /** The first line of a comment on several lines. */
  startLine: z.int().positive().nullable(),
  /** The number of lines below the file's first hunk header. */
  position: z.int().positive(),
  diffHunk: z.string(),
  /** The head that was reviewed, and the commit from which its change starts. */
  commitSha: z.string(),
  mergeBaseSha: z.string(),
  createdAt: z.string(),
  /** The person who resolved the thread. Only its first comment has it. */
  resolvedBy: z.string().nullable(),
});
export type LineComment = z.infer<typeof LineComment>;
