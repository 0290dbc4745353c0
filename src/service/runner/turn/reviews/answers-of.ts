import { z } from "zod";
import { json } from "../../../base/json.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";

/** The most characters of what an agent says about a comment. */
const MAX_WORDS_CHARS = 500;
const MAX_ANSWERS = 100;
/** A line so close to a changed one was meant, too. */
const CLOSE_LINES = 3;
/** Comments are about lines as they were before. */
const HUNK = /^@@ -(?<start>\d+)(?:,(?<count>\d+))? \+/gm;

const Answer = z.object({
  comment: z.int().min(1),
  changed: z.boolean(),
  words: z.string(),
});

/** A comment's answer. `words` are the agent's, or null if it said nothing readable. */
export type CommentAnswer = { isChanged: boolean; words: string | null };

export type AnswersInput = {
  /** The file that the agent wrote, or null. */
  content: Uint8Array | null;
  /** True if the turn has a commit. Without one, nothing was changed, whatever the agent says. */
  hasCommit: boolean;
  /** For each comment, its line, and what the turn changed in its file, without lines around it. */
  comments: readonly { line: number | null; patch: Uint8Array | null }[];
};

/** Answers each comment: as the agent says, or else as the change itself shows. */
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
        { isChanged: changed && hasCommit, words: redactedLine(redact, words, MAX_WORDS_CHARS) || null },
      ]),
  );
  return comments.map(
    ({ line, patch }, at) =>
      said.get(at + 1) ?? { isChanged: patch !== null && touches(patch, line), words: null },
  );
}

/** True if a patch changes something close to this line, or anything if there is none. */
function touches(patch: Uint8Array, line: number | null): boolean {
  if (line === null) return patch.length > 0;
  for (const { groups = {} } of Buffer.from(patch).toString("utf8").matchAll(HUNK)) {
    const start = Number(groups["start"]);
    const end = start + Math.max(1, Number(groups["count"] ?? 1));
    if (line >= start - CLOSE_LINES && line < end + CLOSE_LINES) return true;
  }
  return false;
}
