import { counted, listed } from "../../../../shared/text/text.ts";
import { RefusedByCodeHostError } from "../../../pulls/code-host/github-fault.ts";
import type { HostedReviews, ReviewHost } from "../../../pulls/code-host/github-reviews.ts";
import { howEnded } from "../../publish/branch-pulls.ts";
import { readTurnNote } from "../../publish/turn-note.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";
import type { AnswersNote } from "../reviews/answers-note.ts";

/** The beginning of our replies' last line. In a mail, people quote it. */
const REPLY = "<!-- docs-agent:reply";

const NAMED_MAX = 5;

/** True if these words end with the mark of our replies. Without `mark`, any turn's mark counts. */
export function isMarkedReply(words: string, mark = REPLY): boolean {
  return words.trimEnd().split("\n").at(-1)?.startsWith(mark) === true;
}

/**
 * Answers each comment once, and asks for reviews once more. Resolves to what people should know of
 * that, one sentence each: what the code host refused, or that the pull request was merged or
 * closed meanwhile. Then nothing is said there anymore.
 */
export async function sayAnswers(
  { jobId, number }: RunnerTurn,
  context: TurnContext,
  host: ReviewHost,
  note: AnswersNote,
): Promise<string[]> {
  const { pull, replies } = note;
  const { apart, notes, signal } = context;
  const told: string[] = [];
  try {
    context.onProgress("answering the reviews");
    const now = await host.read(pull, signal);
    const mark = `${REPLY} ${jobId}-${number} -->`;
    const { comments, reviewers } = unsaid(note, now, mark);
    const { state } = now;
    if (state !== "open") {
      if (comments.size + reviewers.length === 0) return [];
      return [`${howEnded({ number: pull, state })}, so its reviews weren't answered.`];
    }
    const pushed = note.commit === null ? null : await readTurnNote(notes);
    const commit = pushed?.commit ?? note.commit;
    const bodies = await apart.read("replyTexts", { answers: replies, commit, mark });
    let refused = 0;
    for (const [at, { comment }] of replies.entries()) {
      if (!comments.has(comment)) continue;
      const isTaken = await unlessRefused(host.reply(pull, comment, bodies[at] ?? "", signal));
      if (isTaken) context.report({ isRound: true });
      else refused += 1;
    }
    if (refused > 0) told.push(`The code host refused ${counted(refused, "reply", "replies")} to comments.`);
    else if (replies.length > 0) told.push(answeredText(replies));
    const asked = new Set(note.askAgain.flatMap(({ login }) => (now.requested.includes(login) ? login : [])));
    for (const login of reviewers) {
      if (await unlessRefused(host.askAgain(pull, login, signal))) asked.add(login);
      else told.push(`The code host refused to ask ${login} for another review.`);
    }
    if (asked.size > 0) told.push(`Asked ${listed([...asked], NAMED_MAX)} for another review.`);
  } catch (error) {
    if (!(error instanceof RefusedByCodeHostError)) throw error;
    told.push(`The comments weren't answered. ${error.message}`);
  }
  return told;
}

/** Says how many comments have an answer, and which of them changed nothing. */
function answeredText(replies: AnswersNote["replies"]): string {
  const left = replies.filter(({ isChanged }) => !isChanged);
  const all = `Answered ${counted(replies.length, "comment")}`;
  if (left.length === 0) return `${all}.`;
  const places = left.flatMap(({ place }) => place ?? []);
  const where = places.length === 0 ? "" : `: ${listed(places, NAMED_MAX)}`;
  const which = left.length === replies.length ? "changed nothing" : `changed nothing for ${left.length}`;
  return `${all}, and ${which}${where}.`;
}

/**
 * The comments that are still to be answered, and whom to ask for a review. What isn't among them
 * was resolved or removed, or an earlier attempt has said it.
 */
function unsaid(
  { replies, askAgain }: AnswersNote,
  { threads, opinions, requested }: HostedReviews,
  mark: string,
): { comments: ReadonlySet<number>; reviewers: string[] } {
  const open = threads.filter(({ comments }) => !comments.some(({ words }) => isMarkedReply(words, mark)));
  const isOpen = ({ comment }: (typeof replies)[number]) => open.some(({ id }) => id === comment);
  const asks = ({ login, review }: (typeof askAgain)[number]) =>
    opinions.some((opinion) => opinion.login === login && opinion.id === review);
  return {
    comments: new Set(replies.filter(isOpen).map(({ comment }) => comment)),
    reviewers: askAgain
      .filter((asked) => asks(asked) && !requested.includes(asked.login))
      .map(({ login }) => login),
  };
}

async function unlessRefused(done: Promise<void>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (error instanceof RefusedByCodeHostError) return false;
    throw error;
  }
}
