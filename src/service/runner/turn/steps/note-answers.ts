import { TurnFailedError } from "../../../base/run-error.ts";
import { turnKeyOf } from "../../publish/earlier-push.ts";
import type { Withheld } from "../../publish/turn-note.ts";
import type { OpenContext, RunnerTurn, Success, TurnContext } from "../../turn-context.ts";
import { changedPaths } from "../../workspace/git/objects.ts";
import { patchOf } from "../../workspace/git/changed-pages.ts";
import { allowPublishing } from "./allow-publishing.ts";
import { withoutOthers } from "./describe.ts";
import type { AskedReview } from "./address-reviews.ts";
import { writeAnswersNote } from "../reviews/answers-note.ts";
import type { CommentAnswer } from "../reviews/answers-of.ts";

/** What was done about each comment, as the agent says, or as its change shows. */
export async function readAnswers(
  { mirror, apart }: TurnContext,
  { threads }: AskedReview,
  { content, from, to }: { content: Buffer | null; from: string; to: string | null },
): Promise<CommentAnswer[]> {
  const comments = await mirror.use(async (git) => {
    const changed = new Set(to === null ? [] : await changedPaths(git, from, to));
    const read: { line: number | null; patch: Buffer | null }[] = [];
    for (const { path, line } of threads) {
      const patch = to === null || !changed.has(path) ? null : await patchOf(git, { from, to, path });
      read.push({ line, patch });
    }
    return read;
  });
  return apart.read("answersOf", { content, hasCommit: to !== null, comments });
}

/** Notes what is about to be said, and in what commit it was done. */
export async function noteAnswers(
  turn: RunnerTurn,
  { folders }: TurnContext,
  { pull, askAgain, notes, threads }: AskedReview,
  done: {
    answers: readonly CommentAnswer[];
    withheld: Withheld | null;
    commit: string | null;
    result: Success | null;
  },
): Promise<void> {
  const { answers, withheld, commit, result } = done;
  const replies = answers.flatMap(({ isChanged, words }, at) => {
    const comment = threads[at]?.id;
    return comment === undefined
      ? []
      : [{ comment, isChanged, words: withoutOthers(words, withheld) || null }];
  });
  const turnKey = turnKeyOf(turn);
  const note = { version: 1 as const, turnKey, pull, commit, replies, askAgain, notes, result };
  await writeAnswersNote(folders.notes, turn.jobId, note);
}

/** What must be left out of answers of a turn that changed nothing. Null if none may be told. */
export async function withheldOf(
  turn: RunnerTurn,
  context: TurnContext,
  {
    at,
    contexts,
    answers,
  }: { at: string; contexts: readonly OpenContext[]; answers: readonly CommentAnswer[] },
): Promise<Withheld | null> {
  const told = answers.flatMap(({ words }) => words ?? []);
  try {
    return (await allowPublishing(turn, context, { from: at, commit: at, contexts, told })).withheld;
  } catch (error) {
    if (error instanceof TurnFailedError) return null;
    throw error;
  }
}
