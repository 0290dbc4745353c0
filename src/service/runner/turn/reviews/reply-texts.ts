import { plainMarkdown } from "../../publish/inert-text.ts";
import type { CommentAnswer } from "./answers-of.ts";

const SHORT_SHA = 7;
const SILENT = "The agent didn't answer this comment.";

/**
 * The replies to comments, as Markdown that mentions nobody and loads nothing. `commit` is the one
 * that was pushed, or null. `mark` tells our reply from others'.
 */
export function replyTexts({
  answers,
  commit,
  mark,
}: {
  answers: readonly CommentAnswer[];
  commit: string | null;
  mark: string;
}): string[] {
  return answers.map((answer) => `${replyText(answer, commit)}\n\n${mark}`);
}

/** Says only what the agent said, or what is certain. */
function replyText({ isSaid, isChanged, words }: CommentAnswer, commit: string | null): string {
  const sha = isChanged ? (commit?.slice(0, SHORT_SHA) ?? null) : null;
  if (!isSaid) return sha === null ? SILENT : `The lines here changed in ${sha}.`;
  if (sha === null) return words === null ? "Not changed." : `Not changed: ${plainMarkdown(words)}`;
  return words === null ? `Changed in ${sha}.` : `Changed: ${plainMarkdown(words)} (${sha})`;
}
