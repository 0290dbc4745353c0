import { z } from "zod";
import { json } from "../../../base/json.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";

/** The most characters of what an agent says about a comment. */
const MAX_WORDS_CHARS = 500;
const MAX_ANSWERS = 100;
/** Comments are about lines as they were before. */
const HUNK = /^@@ -(?<start>\d+)(?:,(?<count>\d+))? \+/gm;

const Answer = z.object({
  comment: z.int().min(1),
  changed: z.boolean(),
  words: z.string(),
});

/**
 * A comment's answer. If `isSaid`, the agent says whether it changed something for it, and perhaps
 * more in its `words`. Otherwise only the change itself tells whether the comment's line changed.
 */
export type CommentAnswer = { isSaid: boolean; isChanged: boolean; words: string | null };

export type AnswersInput = {
  /** The file that the agent wrote, or null. */
  content: Uint8Array | null;
  /** True if the turn has a commit. Without one, nothing was changed, whatever the agent says. */
  hasCommit: boolean;
  /** For each comment, its line, and what the turn changed in its file, without lines around it. */
  comments: readonly { line: number | null; patch: Uint8Array | null }[];
};

/** Answers each comment: as the agent says, or else with what is certain of its line. */
export function answersOf({ content, hasCommit, comments }: AnswersInput, redact: Redact): CommentAnswer[] {
  const text =
    content === null
      ? ""
      : Buffer.from(content)
          .toString("utf8")
          .replace(/^\ufeff/, "");
  const entries = json(z.array(z.unknown())).safeParse(text).data ?? [];
  const said = new Map(
    entries
      .slice(0, MAX_ANSWERS)
      .flatMap((entry) => Answer.safeParse(entry).data ?? [])
      .map(({ comment, changed, words }) => [
        comment,
        {
          isSaid: true,
          isChanged: changed && hasCommit,
          // It says what it changed, and there is nothing.
          words: ((hasCommit || !changed) && redactedLine(redact, words, MAX_WORDS_CHARS)) || null,
        },
      ]),
  );
  return comments.map(
    ({ line, patch }, at) =>
      said.get(at + 1) ?? {
        isSaid: false,
        isChanged: patch !== null && changesLine(patch, line),
        words: null,
      },
  );
}

/** True if a patch changes or removes this very line. */
function changesLine(patch: Uint8Array, line: number | null): boolean {
  if (line === null) return false;
  for (const { groups = {} } of Buffer.from(patch).toString("utf8").matchAll(HUNK)) {
    const start = Number(groups["start"]);
    if (line >= start && line < start + Number(groups["count"] ?? 1)) return true;
  }
  return false;
}
