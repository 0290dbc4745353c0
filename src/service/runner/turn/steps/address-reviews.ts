import { counted } from "../../../../shared/text/text.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import type {
  HostedReviews,
  HostedThread,
  ReviewHost,
  SaidByAccount,
} from "../../../pulls/code-host/github-reviews.ts";
import { whyNotOpen } from "../../publish/branch-pulls.ts";
import { turnKeyOf } from "../../publish/earlier-push.ts";
import type { RunnerTurn, Success, TurnContext, TurnMaterial } from "../../turn-context.ts";
import type { TurnStart } from "../turn-start.ts";
import { type AnswersNote, notedSuccess, readAnswersNote } from "../reviews/answers-note.ts";
import { answersTo, type AskedReview, type ReadAnswers } from "./note-answers.ts";
import { publishWork } from "./publish-work.ts";
import { isMarkedReply, sayAnswers } from "./say-answers.ts";

/** The most people of whom the code host is asked if they may write to the repository. */
const MAX_PEOPLE = 30;
const WHO_COUNTS = "Only comments by people who can write to the repository count.";
const TOO_LONG = "The reviews are too long for one turn, so parts of them were left out.";

/**
 * Runs a turn that answers reviews and failed checks. `work` is the rest of the turn, which is left
 * out if an earlier attempt has pushed. If the turn is run again after a crash, it says the rest of
 * what it was about to say.
 */
export async function addressReviews(
  turn: RunnerTurn,
  context: TurnContext,
  start: TurnStart,
  work: (turn: RunnerTurn, readAnswers: ReadAnswers) => Promise<Success>,
): Promise<Success> {
  const { reviewHost, notes } = context;
  if (reviewHost === null) {
    throw new TurnFailedError("The project has no code host, so there are no reviews to answer.");
  }
  const noted = () => readAnswersNote(notes, turnKeyOf(turn));
  const before = await noted();
  const said = before?.commit === null ? notedSuccess(before) : null;
  if (before !== null && said !== null) return await answered(turn, context, reviewHost, before, said);
  if (start.pushed !== null) {
    const result = await publishWork(turn, context, start.pushed);
    return before === null ? result : await answered(turn, context, reviewHost, before, result);
  }
  const { open } = start.pulls;
  if (open === null) return nothing(whyNotOpen(start.pulls));
  const asked = await readReview(context, reviewHost, open.number);
  if (asked.material === null) {
    return nothing(
      "There is nothing to answer: no comment that counts is open, and no check has failed.",
      asked.review.notes,
    );
  }
  const toAnswer = { ...turn, material: asked.material };
  const result = await work(toAnswer, answersTo(toAnswer, context, asked.review));
  const after = await noted();
  return after === null ? result : await answered(turn, context, reviewHost, after, result);
}

function nothing(reason: string, notes: string[] = []): Success {
  return { kind: "no-changes", summary: null, reason, notes };
}

/** Reads what there is to answer. The material is null if there is nothing. */
async function readReview(
  context: TurnContext,
  host: ReviewHost,
  pull: number,
): Promise<{ review: AskedReview; material: TurnMaterial | null }> {
  const { apart, signal } = context;
  context.onProgress("reading reviews and checks");
  const reviews = await host.read(pull, signal);
  const writers = await findWriters(reviews, host, signal);
  const { threads, leftOut } = countingThreads(reviews, writers);
  const opinions = reviews.opinions.filter(({ login }) => writers.has(login));
  const checks = await host.failedChecks(reviews, signal);
  const material = await apart.read("reviewMaterial", { threads, opinions, checks });
  const notes = [
    ...(leftOut === 0 ? [] : [`${counted(leftOut, "comment was", "comments were")} left out. ${WHO_COUNTS}`]),
    ...(material.isCut ? [TOO_LONG] : []),
  ];
  const askAgain = opinions.map(({ login, id: review }) => ({ login, review }));
  const review = { pull, askAgain, notes, threads: threads.slice(0, material.threads) };
  const { text } = material;
  return { review, material: text === "" ? null : { text, comments: material.threads } };
}

/** Those who wrote something, are people, and may write to the repository. */
async function findWriters(
  { opener, threads, opinions }: HostedReviews,
  host: ReviewHost,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const said = [...opinions, ...threads.flatMap(({ comments }) => comments)];
  const people = said.filter(({ login, isBot }) => !isBot && login !== opener).map(({ login }) => login);
  const writers = new Set<string>();
  for (const login of [...new Set(people)].slice(0, MAX_PEOPLE)) {
    if (await host.mayWrite(login, signal)) writers.add(login);
  }
  return writers;
}

/**
 * The threads that wait for an answer, with the comments that count. A thread whose last word is
 * ours has its answer.
 */
function countingThreads(
  { opener, threads }: HostedReviews,
  writers: ReadonlySet<string>,
): { threads: HostedThread[]; leftOut: number } {
  const isOurs = ({ login, isBot, words }: SaidByAccount) =>
    isMarkedReply(words) && (isBot || login === opener || writers.has(login));
  const isPersons = ({ login, isBot }: SaidByAccount) => !isBot && login !== opener;
  let leftOut = 0;
  const counting = threads.flatMap((thread): HostedThread[] => {
    const those = thread.comments.filter((said) => isOurs(said) || writers.has(said.login));
    const last = those.at(-1);
    if (last !== undefined && isOurs(last)) return [];
    leftOut += thread.comments.filter((said) => isPersons(said) && !writers.has(said.login)).length;
    const comments = those.filter((said) => !isOurs(said));
    return comments.length === 0 ? [] : [{ ...thread, comments }];
  });
  return { threads: counting, leftOut };
}

/** The turn's result, once its answers are said. */
async function answered(
  turn: RunnerTurn,
  context: TurnContext,
  host: ReviewHost,
  note: AnswersNote,
  result: Success,
): Promise<Success> {
  if (result.kind !== "pull-request" && note.commit !== null) return result;
  const told = await sayAnswers(turn, context, host, note);
  return { ...result, notes: [...(result.notes ?? []), ...note.notes, ...told] };
}
