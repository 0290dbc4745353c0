import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import { turnKeyOf } from "../../publish/earlier-push.ts";
import type { Withheld } from "../../publish/turn-note.ts";
import type { OpenContext, RunnerTurn, Success, TurnContext } from "../../turn-context.ts";
import { changedPaths } from "../../workspace/git/objects.ts";
import { patchOf } from "../../workspace/git/changed-pages.ts";
import { allowPublishing } from "./allow-publishing.ts";
import { withoutOthers } from "./describe.ts";
import type { HostedThread } from "../../../pulls/code-host/github-reviews.ts";
import { type AnswersNote, writeAnswersNote } from "../reviews/answers-note.ts";
import type { CommentAnswer } from "../reviews/answers-of.ts";

/** A pull request's reviews that a turn is to answer. */
export type AskedReview = Pick<AnswersNote, "pull" | "askAgain" | "notes"> & {
  /** The threads that the agent gets, numbered from 1. */
  threads: HostedThread[];
};

/** The agent's file of answers, and the commits between which it worked. */
type AnswersSource = { content: Buffer | null; from: string; to: string | null };

/** Reads an agent's answers, once it has worked. */
export type ReadAnswers = (source: AnswersSource) => Promise<TurnAnswers>;

/** A turn's answers to reviews. Call `withoutPush`, or what comes before and after the push. */
type TurnAnswers = {
  /** The words that are going to be published. */
  told: string[];
  /** The turn ends with this result, and pushes nothing. */
  withoutPush: (result: Success, contexts: readonly OpenContext[]) => Promise<void>;
  /** The commit is about to be pushed. */
  beforePush: (commit: string, withheld: Withheld) => Promise<void>;
  afterPush: () => void;
};

/** The answers of a turn that isn't about reviews. */
export const NO_ANSWERS: TurnAnswers = {
  told: [],
  withoutPush: async () => {},
  beforePush: async () => {},
  afterPush: () => {},
};

/** The answers to a review: they are noted before anything of the turn is public. */
export function answersTo(turn: RunnerTurn, context: TurnContext, review: AskedReview): ReadAnswers {
  return async (source) => {
    const answers = await readAnswers(context, review, source);
    const told = answers.flatMap(({ words }) => words ?? []);
    return {
      told,
      withoutPush: async (result, contexts) => {
        const withheld = await withheldOf(turn, context, { at: source.from, contexts, told });
        await noteAnswers(turn, context, review, { answers, withheld, commit: null, result });
      },
      beforePush: (commit, withheld) =>
        noteAnswers(turn, context, review, { answers, withheld, commit, result: null }),
      afterPush: () => context.report({ isRound: true }),
    };
  };
}

/** Reads each comment's answer: as the agent says, or else what its change shows. */
async function readAnswers(
  { mirror, apart }: TurnContext,
  { threads }: AskedReview,
  { content, from, to }: AnswersSource,
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
async function noteAnswers(
  turn: RunnerTurn,
  { notes: kept, redact }: TurnContext,
  { pull, askAgain, notes, threads }: AskedReview,
  done: {
    answers: readonly CommentAnswer[];
    withheld: Withheld | null;
    commit: string | null;
    result: Success | null;
  },
): Promise<void> {
  const { answers, withheld, commit, result } = done;
  const replies = answers.flatMap(({ words, ...answer }, at) => {
    const thread = threads[at];
    if (thread === undefined) return [];
    const { id: comment, path, line } = thread;
    const place = redactedLine(redact, line === null ? path : `${path}:${line}`, SHOWN_CHARS.line);
    return [{ comment, ...answer, words: withoutOthers(words, withheld) || null, place }];
  });
  const turnKey = turnKeyOf(turn);
  const note = { version: 1 as const, turnKey, pull, commit, replies, askAgain, notes, result };
  await writeAnswersNote(kept, note);
}

/** The words to leave out of answers, if a turn changed nothing. Null if none may be told. */
async function withheldOf(
  turn: RunnerTurn,
  context: TurnContext,
  { at, contexts, told }: { at: string; contexts: readonly OpenContext[]; told: readonly string[] },
): Promise<Withheld | null> {
  try {
    return (await allowPublishing(turn, context, { from: at, commit: at, contexts, told })).withheld;
  } catch (error) {
    if (error instanceof TurnFailedError) return null;
    throw error;
  }
}
