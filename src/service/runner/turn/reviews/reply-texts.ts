import { plainMarkdown } from "../../publish/inert-text.ts";
import type { CommentAnswer } from "./answers-of.ts";

const SHORT_SHA = 7;
const SILENT = "The agent didn't say why.";

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

function replyText({ isChanged, words }: CommentAnswer, commit: string | null): string {
  if (!isChanged || commit === null) return `Not changed: ${words === null ? SILENT : plainMarkdown(words)}`;
  const sha = commit.slice(0, SHORT_SHA);
  return words === null ? `Changed in ${sha}.` : `Changed: ${plainMarkdown(words)} (${sha})`;
}
